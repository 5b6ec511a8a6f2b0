/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/domainxml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/domainxml_internal.h"

#define KERNEL_BOOT_VOLUME "kernel-boot-volume"
#define VCPUS_MAX 4096
#define QEMU_NAMESPACE "http://libvirt.org/schemas/domain/qemu/1.0"
/* libvirt rounds memory up to this. */
#define MEMORY_UNIT (UINT64_C(1) << 20)
/* What QEMU rounds to, and hence the least that can be added. */
#define EMULATED_EXTRA UINT64_C(8192)

char *
domain_name(const char *ns, const char *name)
{
	return xasprintf("%s_%s", ns, name);
}

uint64_t
domain_memory(const json_t *vmi)
{
	const json_t *domain = js_obj_at(vmi, "spec.domain");
	uint64_t bytes = text_bytes(js_at(domain, "memory.guest"));

	if (bytes == 0)
		bytes = text_bytes(js_at(domain, "resources.requests.memory"));
	if (bytes == 0)
		bytes = text_bytes(js_at(domain, "resources.limits.memory"));
	return bytes;
}

static void
put_metadata(struct domain_work *w)
{
	xml_open(w->xml, "metadata");
	xml_open(w->xml, "kubevirt");
	xml_attr(w->xml, "xmlns", "http://kubevirt.io");
	xml_leaf(w->xml, "uid", js_str_at(w->in->vmi, "metadata.uid"));
	xml_close(w->xml);
	xml_close(w->xml);
}

static int
put_memory(struct domain_work *w, struct err *err)
{
	uint64_t bytes = domain_memory(w->in->vmi);

	if (bytes == 0)
		return err_set(err, ERR_INVALID,
			       "spec.domain.memory.guest: is missing");
	xml_open(w->xml, "memory");
	xml_attr(w->xml, "unit", "b");
	{
		AUTO(free_ptr) char *text = xasprintf("%" PRIu64, bytes);

		xml_text(w->xml, text);
	}
	xml_close(w->xml);
	return 0;
}

static unsigned
topology(const struct domain_work *w, const char *path)
{
	int64_t n = js_int_at(w->domain, path, 1);

	return n < 1 || n > VCPUS_MAX ? 1 : (unsigned)n;
}

static void
put_vcpus(struct domain_work *w)
{
	AUTO(free_ptr) char *text = xasprintf("%u", w->vcpus);
	AUTO(free_ptr) char *threads = xasprintf("%u", w->io_threads);

	xml_open(w->xml, "vcpu");
	xml_attr(w->xml, "placement", "static");
	xml_text(w->xml, text);
	xml_close(w->xml);
	if (w->io_threads > 0)
		xml_leaf(w->xml, "iothreads", threads);
}

static void
put_cpu_features(struct domain_work *w)
{
	const json_t *features = js_arr_at(w->domain, "cpu.features");
	const json_t *feature;
	size_t i;

	json_array_foreach(features, i, feature)
	{
		const char *policy = js_str_at(feature, "policy");

		xml_open(w->xml, "feature");
		xml_attr(w->xml, "name", js_str_at(feature, "name"));
		xml_attr(w->xml, "policy",
			 *policy != '\0' ? policy : "require");
		xml_close(w->xml);
	}
}

static void
put_cpu(struct domain_work *w)
{
	const char *model = js_str_at(w->domain, "cpu.model");
	bool named = *model != '\0' && !str_equal(model, "host-model") &&
		     !str_equal(model, "host-passthrough");

	xml_open(w->xml, "cpu");
	if (named) {
		xml_attr(w->xml, "mode", "custom");
		xml_attr(w->xml, "match", "exact");
		xml_leaf(w->xml, "model", model);
	} else {
		xml_attr(w->xml, "mode", *model != '\0' ? model : "host-model");
	}
	xml_open(w->xml, "topology");
	xml_attrf(w->xml, "sockets", "%u", topology(w, "cpu.sockets"));
	xml_attrf(w->xml, "cores", "%u", topology(w, "cpu.cores"));
	xml_attrf(w->xml, "threads", "%u", topology(w, "cpu.threads"));
	xml_close(w->xml);
	put_cpu_features(w);
	xml_close(w->xml);
}

/* A path of the manifest, below the image's directory; ".." leads nowhere. */
static int
put_boot_file(struct domain_work *w, const char *element, const char *path,
	      struct err *err)
{
	AUTO(free_ptr) char *full = NULL;

	if (*path == '\0')
		return 0;
	if (strstr(path, "..") != NULL)
		return err_set(err, ERR_INVALID,
			       "spec.domain.firmware.kernelBoot: '%s' is no "
			       "path",
			       path);
	full = xasprintf("%s/%s%s%s", w->in->containers, KERNEL_BOOT_VOLUME,
			 *path == '/' ? "" : "/", path);
	xml_leaf(w->xml, element, full);
	return 0;
}

static int
put_os(struct domain_work *w, struct err *err)
{
	const json_t *boot = js_obj_at(w->domain, "firmware.kernelBoot");
	const char *machine = js_str_at(w->domain, "machine.type");

	xml_open(w->xml, "os");
	xml_open(w->xml, "type");
	xml_attr(w->xml, "arch", "x86_64");
	xml_attr(w->xml, "machine", *machine != '\0' ? machine : "q35");
	xml_text(w->xml, "hvm");
	xml_close(w->xml);
	if (boot != NULL &&
	    (put_boot_file(w, "kernel", js_str_at(boot, "container.kernelPath"),
			   err) == -1 ||
	     put_boot_file(w, "initrd", js_str_at(boot, "container.initrdPath"),
			   err) == -1))
		return -1;
	xml_leaf(w->xml, "cmdline", js_str_at(boot, "kernelArgs"));
	/* Without a port there is nothing that it could say it on. */
	if (js_bool_at(w->domain, "firmware.bootloader.bios.useSerial",
		       false) &&
	    js_bool_at(w->devices, "autoattachSerialConsole", true))
		xml_with(w->xml, "bios", "useserial", "yes");
	xml_with(w->xml, "smbios", "mode", "sysinfo");
	xml_close(w->xml);
	return 0;
}

static void
put_entry(struct domain_work *w, const char *name, const char *value)
{
	if (*value == '\0')
		return;
	xml_open(w->xml, "entry");
	xml_attr(w->xml, "name", name);
	xml_text(w->xml, value);
	xml_close(w->xml);
}

static void
put_sysinfo(struct domain_work *w)
{
	static const char *const names[] = { "manufacturer", "version",
					     "serial", "asset", "sku" };
	const json_t *chassis = js_obj_at(w->domain, "chassis");

	xml_open(w->xml, "sysinfo");
	xml_attr(w->xml, "type", "smbios");
	xml_open(w->xml, "system");
	put_entry(w, "manufacturer", "KubeVirt");
	put_entry(w, "product", "None");
	put_entry(w, "uuid", js_str_at(w->domain, "firmware.uuid"));
	put_entry(w, "serial", js_str_at(w->domain, "firmware.serial"));
	put_entry(w, "family", "KubeVirt");
	xml_close(w->xml);
	if (chassis != NULL) {
		xml_open(w->xml, "chassis");
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			put_entry(w, names[i], js_str_at(chassis, names[i]));
		xml_close(w->xml);
	}
	xml_close(w->xml);
}

/* A feature that is on unless it says enabled: false. */
static bool
feature_on(const json_t *feature)
{
	return feature != NULL && js_bool_at(feature, "enabled", true);
}

static void
put_features(struct domain_work *w)
{
	const json_t *features = js_obj_at(w->domain, "features");
	const json_t *acpi = js_obj_at(features, "acpi");
	const json_t *apic = js_obj_at(features, "apic");
	const json_t *spin = js_obj_at(features, "pvspinlock");

	xml_open(w->xml, "features");
	if (acpi == NULL || feature_on(acpi)) {
		xml_open(w->xml, "acpi");
		xml_close(w->xml);
	}
	if (feature_on(apic)) {
		xml_open(w->xml, "apic");
		if (js_bool_at(apic, "endOfInterrupt", false))
			xml_attr(w->xml, "eoi", "on");
		xml_close(w->xml);
	}
	if (js_obj_at(features, "kvm") != NULL) {
		xml_open(w->xml, "kvm");
		xml_with(w->xml, "hidden", "state",
			 js_bool_at(features, "kvm.hidden", false) ? "on"
								   : "off");
		xml_close(w->xml);
	}
	if (spin != NULL)
		xml_with(w->xml, "pvspinlock", "state",
			 feature_on(spin) ? "on" : "off");
	xml_close(w->xml);
}

static void
put_timer(struct domain_work *w, const char *member, const char *name)
{
	const json_t *timers = js_obj_at(w->domain, "clock.timer");
	const json_t *timer = js_obj_at(timers, member);

	if (timer == NULL)
		return;
	xml_open(w->xml, "timer");
	xml_attr(w->xml, "name", name);
	xml_attr(w->xml, "present",
		 js_bool_at(timer, "present", true) ? "yes" : "no");
	xml_attr(w->xml, "tickpolicy", js_str_at(timer, "tickPolicy"));
	xml_attr(w->xml, "track", js_str_at(timer, "track"));
	xml_close(w->xml);
}

static void
put_clock(struct domain_work *w)
{
	static const char *const timers[][2] = {
		{ "rtc", "rtc" },
		{ "pit", "pit" },
		{ "kvm", "kvmclock" },
		{ "hpet", "hpet" },
		{ "hyperv", "hypervclock" },
	};
	const json_t *clock = js_obj_at(w->domain, "clock");
	const char *zone = js_str_at(clock, "timezone");
	const json_t *offset = js_at(clock, "utc.offsetSeconds");

	xml_open(w->xml, "clock");
	if (*zone != '\0') {
		xml_attr(w->xml, "offset", "timezone");
		xml_attr(w->xml, "timezone", zone);
	} else if (offset != NULL) {
		xml_attr(w->xml, "offset", "variable");
		xml_attrf(w->xml, "adjustment", "%" PRId64,
			  (int64_t)json_integer_value(offset));
		xml_attr(w->xml, "basis", "utc");
	} else {
		xml_attr(w->xml, "offset", "utc");
	}
	for (size_t i = 0; i < ARRAY_LEN(timers); i++)
		put_timer(w, timers[i][0], timers[i][1]);
	xml_close(w->xml);
}

static int
put_devices(struct domain_work *w, struct err *err)
{
	xml_open(w->xml, "devices");
	domainxml_disks(w);
	if (domainxml_interfaces(w, err) == -1)
		return -1;
	domainxml_devices(w);
	xml_close(w->xml);
	return 0;
}

static void
put_argument(struct domain_work *w, const char *option, const char *value)
{
	const char *both[] = { option, value };

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		xml_open(w->xml, "qemu:arg");
		xml_attr(w->xml, "value", both[i]);
		xml_close(w->xml);
	}
}

/*
 * QEMU's emulation loses track of what a guest writes while it is copied if
 * the memory is a multiple of 64 pages, and libvirt knows no other: so there is
 * a little more (docs/decisions/0028-emulated-memory.md). What libvirt makes
 * stays beside it, never touched.
 */
static void
put_emulated_memory(struct domain_work *w)
{
	uint64_t units =
		(domain_memory(w->in->vmi) + MEMORY_UNIT - 1) / MEMORY_UNIT;
	uint64_t bytes = units * MEMORY_UNIT + EMULATED_EXTRA;
	AUTO(free_ptr)
	char *object = xasprintf(
		"memory-backend-ram,id=ferry.ram,size=%" PRIu64 "b", bytes);
	AUTO(free_ptr) char *size = xasprintf("size=%" PRIu64 "b", bytes);

	put_argument(w, "-object", object);
	put_argument(w, "-machine", "memory-backend=ferry.ram");
	put_argument(w, "-m", size);
}

/* The launcher's own, beside libvirt's; the same in each pod (qmp.h). */
static void
put_monitor(struct domain_work *w)
{
	AUTO(free_ptr)
	char *socket =
		xasprintf("socket,id=ferry.monitor,path=%s/" DOMAIN_MONITOR
			  ",server=on,wait=off",
			  w->in->runtime);

	put_argument(w, "-chardev", socket);
	put_argument(w, "-mon", "chardev=ferry.monitor,mode=control");
}

static void
put_arguments(struct domain_work *w)
{
	xml_open(w->xml, "qemu:commandline");
	if (!w->in->kvm)
		put_emulated_memory(w);
	put_monitor(w);
	xml_close(w->xml);
}

static int
put_domain(struct domain_work *w, struct err *err)
{
	const json_t *vmi = w->in->vmi;
	AUTO(free_ptr)
	char *name = domain_name(js_str_at(vmi, "metadata.namespace"),
				 js_str_at(vmi, "metadata.name"));

	xml_open(w->xml, "domain");
	xml_attr(w->xml, "type", w->in->kvm ? "kvm" : "qemu");
	xml_attr(w->xml, "xmlns:qemu", QEMU_NAMESPACE);
	xml_leaf(w->xml, "name", name);
	xml_leaf(w->xml, "uuid", js_str_at(w->domain, "firmware.uuid"));
	put_metadata(w);
	if (put_memory(w, err) == -1)
		return -1;
	put_vcpus(w);
	put_sysinfo(w);
	if (put_os(w, err) == -1)
		return -1;
	put_features(w);
	put_cpu(w);
	put_clock(w);
	xml_leaf(w->xml, "on_poweroff", "destroy");
	xml_leaf(w->xml, "on_reboot", "restart");
	xml_leaf(w->xml, "on_crash", "destroy");
	if (put_devices(w, err) == -1)
		return -1;
	put_arguments(w);
	xml_close(w->xml);
	return 0;
}

char *
domainxml_make(const struct domain_input *in, struct err *err)
{
	AUTO(xml_done) struct xml *xml = xml_new();
	struct domain_work w = {
		.in = in,
		.domain = js_obj_at(in->vmi, "spec.domain"),
		.xml = xml,
	};

	w.devices = js_obj_at(w.domain, "devices");
	w.vcpus = topology(&w, "cpu.sockets") * topology(&w, "cpu.cores") *
		  topology(&w, "cpu.threads");
	domainxml_count_io_threads(&w);
	if (put_domain(&w, err) == -1)
		return NULL;
	return xml_finish(xml);
}
