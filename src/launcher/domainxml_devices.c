/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/domainxml_internal.h"

#define QUEUES_MAX 8U
#define IO_THREADS_POOL 4U /* of ioThreadsPolicy auto, at most */

static const char *const bus_names[] = {
	[BUS_VIRTIO] = "virtio",
	[BUS_SATA] = "sata",
	[BUS_SCSI] = "scsi",
	[BUS_USB] = "usb",
};

static unsigned
queues(const struct domain_work *w)
{
	return w->vcpus < QUEUES_MAX ? w->vcpus : QUEUES_MAX;
}

static bool
wants_own_thread(const struct disk *disk)
{
	return js_bool_at(disk->spec, "dedicatedIOThread", false);
}

void
domainxml_count_io_threads(struct domain_work *w)
{
	const char *policy = js_str_at(w->domain, "ioThreadsPolicy");
	unsigned own = 0, common = 0;

	for (size_t i = 0; i < w->in->disks->count; i++) {
		const struct disk *disk = &w->in->disks->items[i];

		if (disk->bus != BUS_VIRTIO)
			continue;
		if (wants_own_thread(disk))
			own++;
		else if (*policy != '\0')
			common++;
	}
	if (str_equal(policy, "shared"))
		common = common > 0;
	else if (common > IO_THREADS_POOL)
		common = IO_THREADS_POOL;
	w->io_threads = own + common;
}

/* Own threads come last, so that the common ones are 1 to n. */
static unsigned
io_thread_of(const struct domain_work *w, size_t index)
{
	const struct disks *disks = w->in->disks;
	unsigned own = 0, before_own = 0, before_common = 0, common;

	for (size_t i = 0; i < disks->count; i++) {
		if (disks->items[i].bus != BUS_VIRTIO)
			continue;
		own += wants_own_thread(&disks->items[i]);
		if (i >= index)
			continue;
		before_own += wants_own_thread(&disks->items[i]);
		before_common += !wants_own_thread(&disks->items[i]);
	}
	common = w->io_threads - own;
	if (wants_own_thread(&disks->items[index]))
		return common + before_own + 1;
	return common > 0 ? before_common % common + 1 : 0;
}

static void
put_driver(struct domain_work *w, const struct disk *disk, size_t index)
{
	const char *cache = js_str_at(disk->spec, "cache");
	const char *io = js_str_at(disk->spec, "io");
	unsigned thread = w->io_threads > 0 && disk->bus == BUS_VIRTIO
				  ? io_thread_of(w, index)
				  : 0;

	xml_open(w->xml, "driver");
	xml_attr(w->xml, "name", "qemu");
	xml_attr(w->xml, "type", disk->format);
	/* Two nodes see what the other wrote only without a cache between. */
	if (*cache == '\0')
		cache = disk->no_direct ? "writethrough" : "none";
	xml_attr(w->xml, "cache", cache);
	if (!str_equal(io, "default"))
		xml_attr(w->xml, "io", io);
	xml_attr(w->xml, "error_policy", js_str_at(disk->spec, "errorPolicy"));
	xml_attr(w->xml, "discard", disk->read_only ? "" : "unmap");
	if (thread > 0)
		xml_attrf(w->xml, "iothread", "%u", thread);
	if (disk->bus == BUS_VIRTIO &&
	    js_bool_at(w->devices, "blockMultiQueue", false))
		xml_attrf(w->xml, "queues", "%u", w->vcpus);
	xml_close(w->xml);
}

static void
put_backing(struct domain_work *w, const struct disk *disk)
{
	xml_open(w->xml, "backingStore");
	if (disk->backing != NULL) {
		xml_attr(w->xml, "type", "file");
		xml_with(w->xml, "format", "type", disk->backing_format);
		xml_with(w->xml, "source", "file", disk->backing);
		/* Here the chain ends; libvirt looks for more otherwise. */
		xml_open(w->xml, "backingStore");
		xml_close(w->xml);
	}
	xml_close(w->xml);
}

static void
put_boot_order(struct domain_work *w, const json_t *spec)
{
	int64_t order = js_int_at(spec, "bootOrder", 0);

	if (order <= 0)
		return;
	xml_open(w->xml, "boot");
	xml_attrf(w->xml, "order", "%" PRId64, order);
	xml_close(w->xml);
}

static void
put_flag(struct domain_work *w, const char *name, bool set)
{
	if (!set)
		return;
	xml_open(w->xml, name);
	xml_close(w->xml);
}

static void
put_disk(struct domain_work *w, const struct disk *disk, size_t index)
{
	AUTO(free_ptr) char *alias = xasprintf("ua-%s", disk->volume);

	xml_open(w->xml, "disk");
	xml_attr(w->xml, "type", disk->block ? "block" : "file");
	xml_attr(w->xml, "device", disk->cdrom ? "cdrom" : "disk");
	put_driver(w, disk, index);
	xml_with(w->xml, "source", disk->block ? "dev" : "file", disk->path);
	put_backing(w, disk);
	xml_open(w->xml, "target");
	xml_attr(w->xml, "dev", disk->target);
	xml_attr(w->xml, "bus", bus_names[disk->bus]);
	xml_attr(w->xml, "tray", js_str_at(disk->spec, "cdrom.tray"));
	xml_close(w->xml);
	xml_leaf(w->xml, "serial", js_str_at(disk->spec, "serial"));
	put_flag(w, "readonly", disk->read_only);
	put_flag(w, "shareable", js_bool_at(disk->spec, "shareable", false));
	put_boot_order(w, disk->spec);
	xml_with(w->xml, "alias", "name", alias);
	xml_close(w->xml);
}

void
domainxml_disks(struct domain_work *w)
{
	for (size_t i = 0; i < w->in->disks->count; i++)
		put_disk(w, &w->in->disks->items[i], i);
}

static const struct launch_interface *
find_tap(const struct domain_work *w, const char *name, size_t *ret_index)
{
	const struct launch_interfaces *list = w->in->interfaces;

	for (size_t i = 0; i < list->count; i++) {
		if (str_equal(list->items[i].name, name)) {
			*ret_index = i;
			return &list->items[i];
		}
	}
	return NULL;
}

static const char *
first_of(const char *a, const char *b, const char *otherwise)
{
	if (*a != '\0')
		return a;
	return *b != '\0' ? b : otherwise;
}

/* The tap is there already, and nobody's but the handler's to change. */
static int
put_interface(struct domain_work *w, const json_t *spec, struct err *err)
{
	const char *name = js_str_at(spec, "name");
	size_t index;
	const struct launch_interface *tap = find_tap(w, name, &index);
	int64_t acpi = js_int_at(spec, "acpiIndex", 0);
	AUTO(free_ptr) char *alias = xasprintf("ua-%s", name);
	const char *model;

	if (tap == NULL)
		return err_set(err, ERR_INVALID,
			       "spec.domain.devices.interfaces: there is no "
			       "tap for '%s'",
			       name);
	model = first_of(tap->model, js_str_at(spec, "model"), "virtio");
	xml_open(w->xml, "interface");
	xml_attr(w->xml, "type", "ethernet");
	xml_with(w->xml, "mac", "address",
		 first_of(tap->mac, js_str_at(spec, "macAddress"), ""));
	xml_open(w->xml, "target");
	xml_attr(w->xml, "dev", tap->tap);
	xml_attr(w->xml, "managed", "no");
	xml_close(w->xml);
	xml_with(w->xml, "model", "type",
		 str_equal(model, "virtio") ? "virtio-non-transitional"
					    : model);
	if (str_equal(model, "virtio") && queues(w) > 1 &&
	    js_bool_at(w->devices, "networkInterfaceMultiqueue", false) &&
	    (w->in->multi_queue >> index & 1) != 0) {
		xml_open(w->xml, "driver");
		xml_attrf(w->xml, "queues", "%u", queues(w));
		xml_close(w->xml);
	}
	xml_with(w->xml, "link", "state",
		 str_equal(js_str_at(spec, "state"), "down") ? "down" : "");
	if (tap->mtu > 0) {
		xml_open(w->xml, "mtu");
		xml_attrf(w->xml, "size", "%u", tap->mtu);
		xml_close(w->xml);
	}
	put_boot_order(w, spec);
	xml_with(w->xml, "rom", "enabled",
		 js_int_at(spec, "bootOrder", 0) > 0 ? "" : "no");
	if (acpi > 0) {
		xml_open(w->xml, "acpi");
		xml_attrf(w->xml, "index", "%" PRId64, acpi);
		xml_close(w->xml);
	}
	xml_with(w->xml, "alias", "name", alias);
	xml_close(w->xml);
	return 0;
}

int
domainxml_interfaces(struct domain_work *w, struct err *err)
{
	const json_t *list = js_arr_at(w->devices, "interfaces");
	const json_t *spec;
	size_t i;

	json_array_foreach(list, i, spec)
	{
		if (put_interface(w, spec, err) == -1)
			return -1;
	}
	return 0;
}

static bool
has_bus(const struct domain_work *w, enum disk_bus bus)
{
	for (size_t i = 0; i < w->in->disks->count; i++) {
		if (w->in->disks->items[i].bus == bus)
			return true;
	}
	return false;
}

/* A tablet that is asked for, or comes by itself with a screen. */
static bool
has_input(const struct domain_work *w)
{
	return js_bool_at(w->devices, "autoattachInputDevice", false) ||
	       json_array_size(js_arr_at(w->devices, "inputs")) > 0;
}

static bool
has_usb_input(const struct domain_work *w)
{
	const json_t *inputs = js_arr_at(w->devices, "inputs");
	const json_t *input;
	size_t i;

	json_array_foreach(inputs, i, input)
	{
		if (!str_equal(js_str_at(input, "bus"), "virtio"))
			return true;
	}
	return has_input(w) && json_array_size(inputs) == 0;
}

static void
put_controllers(struct domain_work *w)
{
	if (!has_bus(w, BUS_USB) && !has_usb_input(w)) {
		xml_open(w->xml, "controller");
		xml_attr(w->xml, "type", "usb");
		xml_attr(w->xml, "index", "0");
		xml_attr(w->xml, "model", "none");
		xml_close(w->xml);
	}
	if (has_bus(w, BUS_SCSI)) {
		xml_open(w->xml, "controller");
		xml_attr(w->xml, "type", "scsi");
		xml_attr(w->xml, "index", "0");
		xml_attr(w->xml, "model", "virtio-non-transitional");
		xml_close(w->xml);
	}
}

static void
put_input(struct domain_work *w, const char *bus, const char *name)
{
	AUTO(free_ptr) char *alias = xasprintf("ua-%s", name);

	xml_open(w->xml, "input");
	xml_attr(w->xml, "type", "tablet");
	xml_attr(w->xml, "bus", *bus != '\0' ? bus : "usb");
	if (*name != '\0')
		xml_with(w->xml, "alias", "name", alias);
	xml_close(w->xml);
}

static void
put_inputs(struct domain_work *w)
{
	const json_t *inputs = js_arr_at(w->devices, "inputs");
	const json_t *input;
	size_t i;

	json_array_foreach(inputs, i, input)
		put_input(w, js_str_at(input, "bus"), js_str_at(input, "name"));
	if (has_input(w) && json_array_size(inputs) == 0)
		put_input(w, "", "");
}

/* A socket to talk to it, and all that it says in a file. */
static void
put_serial(struct domain_work *w)
{
	AUTO(free_ptr) char *socket = NULL;

	if (!js_bool_at(w->devices, "autoattachSerialConsole", true))
		return;
	socket = xasprintf("%s/virt-serial0", w->in->runtime);
	xml_open(w->xml, "serial");
	xml_attr(w->xml, "type", "unix");
	xml_open(w->xml, "source");
	xml_attr(w->xml, "mode", "bind");
	xml_attr(w->xml, "path", socket);
	xml_close(w->xml);
	xml_open(w->xml, "log");
	xml_attr(w->xml, "file", w->in->console);
	xml_attr(w->xml, "append", "on");
	xml_close(w->xml);
	xml_with(w->xml, "target", "port", "0");
	xml_close(w->xml);
}

static void
put_graphics(struct domain_work *w)
{
	AUTO(free_ptr) char *socket = NULL;

	if (!js_bool_at(w->devices, "autoattachGraphicsDevice", true))
		return;
	socket = xasprintf("%s/virt-vnc", w->in->runtime);
	xml_open(w->xml, "graphics");
	xml_attr(w->xml, "type", "vnc");
	xml_open(w->xml, "listen");
	xml_attr(w->xml, "type", "socket");
	xml_attr(w->xml, "socket", socket);
	xml_close(w->xml);
	xml_close(w->xml);
	xml_open(w->xml, "video");
	xml_open(w->xml, "model");
	xml_attr(w->xml, "type", "vga");
	xml_attr(w->xml, "heads", "1");
	xml_attr(w->xml, "vram", "16384");
	xml_close(w->xml);
	xml_close(w->xml);
}

static void
put_rng(struct domain_work *w)
{
	if (js_obj_at(w->devices, "rng") == NULL)
		return;
	xml_open(w->xml, "rng");
	xml_attr(w->xml, "model", "virtio-non-transitional");
	xml_open(w->xml, "backend");
	xml_attr(w->xml, "model", "random");
	xml_text(w->xml, "/dev/urandom");
	xml_close(w->xml);
	xml_close(w->xml);
}

static void
put_watchdog(struct domain_work *w)
{
	const json_t *watchdog = js_obj_at(w->devices, "watchdog");
	const char *action = js_str_at(watchdog, "i6300esb.action");
	AUTO(free_ptr) char *alias = NULL;

	if (watchdog == NULL)
		return;
	alias = xasprintf("ua-%s", js_str_at(watchdog, "name"));
	xml_open(w->xml, "watchdog");
	xml_attr(w->xml, "model", "i6300esb");
	xml_attr(w->xml, "action", *action != '\0' ? action : "reset");
	xml_with(w->xml, "alias", "name", alias);
	xml_close(w->xml);
}

static void
put_balloon(struct domain_work *w)
{
	bool wanted = js_bool_at(w->devices, "autoattachMemBalloon", true);

	xml_open(w->xml, "memballoon");
	xml_attr(w->xml, "model", wanted ? "virtio-non-transitional" : "none");
	xml_close(w->xml);
}

void
domainxml_devices(struct domain_work *w)
{
	put_controllers(w);
	put_serial(w);
	put_inputs(w);
	put_graphics(w);
	put_watchdog(w);
	put_balloon(w);
	put_rng(w);
}
