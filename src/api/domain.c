/* SPDX-License-Identifier: Apache-2.0 */
#include "api/domain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "api/check_internal.h"
#include "base/array.h"
#include "meta/causes.h"

#define DEPTH_MAX 16
#define NAME_SHOWN_MAX 64 /* of a member's name, or of a value */

enum kind {
	OBJECT,
	ARRAY,
	STRING,
	INTEGER,
	BOOL,
	QUANTITY,
	ANY, /* whatever is in it is Kubernetes' to check */
};

static const char *const kind_texts[] = {
	[OBJECT] = "an object",   [ARRAY] = "a list",
	[STRING] = "a string",    [INTEGER] = "a number",
	[BOOL] = "true or false", [QUANTITY] = "a quantity",
	[ANY] = "anything",
};

struct row {
	const char *path;
	enum kind kind;
	const char *values; /* with blanks between them; "" for any */
};

/* In order of the paths. */
/* clang-format off */
static const struct row rows[] = {
	{ "affinity", ANY, "" },
	{ "architecture", STRING, "amd64" },
	{ "dnsConfig", ANY, "" },
	{ "dnsPolicy", STRING, "" },
	{ "domain", OBJECT, "" },
	{ "domain.chassis", OBJECT, "" },
	{ "domain.chassis.asset", STRING, "" },
	{ "domain.chassis.manufacturer", STRING, "" },
	{ "domain.chassis.serial", STRING, "" },
	{ "domain.chassis.sku", STRING, "" },
	{ "domain.chassis.version", STRING, "" },
	{ "domain.clock", OBJECT, "" },
	{ "domain.clock.timer", OBJECT, "" },
	{ "domain.clock.timer.hpet", OBJECT, "" },
	{ "domain.clock.timer.hpet.present", BOOL, "" },
	{ "domain.clock.timer.hpet.tickPolicy", STRING, "delay catchup merge discard" },
	{ "domain.clock.timer.hyperv", OBJECT, "" },
	{ "domain.clock.timer.hyperv.present", BOOL, "" },
	{ "domain.clock.timer.kvm", OBJECT, "" },
	{ "domain.clock.timer.kvm.present", BOOL, "" },
	{ "domain.clock.timer.pit", OBJECT, "" },
	{ "domain.clock.timer.pit.present", BOOL, "" },
	{ "domain.clock.timer.pit.tickPolicy", STRING, "delay catchup merge discard" },
	{ "domain.clock.timer.rtc", OBJECT, "" },
	{ "domain.clock.timer.rtc.present", BOOL, "" },
	{ "domain.clock.timer.rtc.tickPolicy", STRING, "delay catchup merge discard" },
	{ "domain.clock.timer.rtc.track", STRING, "guest wall" },
	{ "domain.clock.timezone", STRING, "" },
	{ "domain.clock.utc", OBJECT, "" },
	{ "domain.clock.utc.offsetSeconds", INTEGER, "" },
	{ "domain.cpu", OBJECT, "" },
	{ "domain.cpu.cores", INTEGER, "" },
	{ "domain.cpu.dedicatedCpuPlacement", BOOL, "false" },
	{ "domain.cpu.features", ARRAY, "" },
	{ "domain.cpu.features[]", OBJECT, "" },
	{ "domain.cpu.features[].name", STRING, "" },
	{ "domain.cpu.features[].policy", STRING, "force require optional disable forbid" },
	{ "domain.cpu.isolateEmulatorThread", BOOL, "false" },
	{ "domain.cpu.model", STRING, "" },
	{ "domain.cpu.sockets", INTEGER, "" },
	{ "domain.cpu.threads", INTEGER, "" },
	{ "domain.devices", OBJECT, "" },
	{ "domain.devices.autoattachGraphicsDevice", BOOL, "" },
	{ "domain.devices.autoattachInputDevice", BOOL, "" },
	{ "domain.devices.autoattachMemBalloon", BOOL, "" },
	{ "domain.devices.autoattachPodInterface", BOOL, "" },
	{ "domain.devices.autoattachSerialConsole", BOOL, "" },
	{ "domain.devices.autoattachVSOCK", BOOL, "false" },
	{ "domain.devices.blockMultiQueue", BOOL, "" },
	{ "domain.devices.disableHotplug", BOOL, "" },
	{ "domain.devices.disks", ARRAY, "" },
	{ "domain.devices.disks[]", OBJECT, "" },
	{ "domain.devices.disks[].bootOrder", INTEGER, "" },
	{ "domain.devices.disks[].cache", STRING, "none writeback writethrough" },
	{ "domain.devices.disks[].cdrom", OBJECT, "" },
	{ "domain.devices.disks[].cdrom.bus", STRING, "sata scsi" },
	{ "domain.devices.disks[].cdrom.readonly", BOOL, "" },
	{ "domain.devices.disks[].cdrom.tray", STRING, "open closed" },
	{ "domain.devices.disks[].dedicatedIOThread", BOOL, "" },
	{ "domain.devices.disks[].disk", OBJECT, "" },
	{ "domain.devices.disks[].disk.bus", STRING, "virtio sata scsi usb" },
	{ "domain.devices.disks[].disk.readonly", BOOL, "" },
	{ "domain.devices.disks[].errorPolicy", STRING, "stop ignore report enospace" },
	{ "domain.devices.disks[].io", STRING, "native threads default" },
	{ "domain.devices.disks[].name", STRING, "" },
	{ "domain.devices.disks[].serial", STRING, "" },
	{ "domain.devices.disks[].shareable", BOOL, "" },
	{ "domain.devices.disks[].tag", STRING, "" },
	{ "domain.devices.inputs", ARRAY, "" },
	{ "domain.devices.inputs[]", OBJECT, "" },
	{ "domain.devices.inputs[].bus", STRING, "usb virtio" },
	{ "domain.devices.inputs[].name", STRING, "" },
	{ "domain.devices.inputs[].type", STRING, "tablet" },
	{ "domain.devices.interfaces", ARRAY, "" },
	{ "domain.devices.interfaces[]", OBJECT, "" },
	{ "domain.devices.interfaces[].acpiIndex", INTEGER, "" },
	{ "domain.devices.interfaces[].bootOrder", INTEGER, "" },
	{ "domain.devices.interfaces[].bridge", OBJECT, "" },
	{ "domain.devices.interfaces[].macAddress", STRING, "" },
	{ "domain.devices.interfaces[].masquerade", OBJECT, "" },
	{ "domain.devices.interfaces[].model", STRING, "virtio e1000 e1000e ne2k_pci pcnet rtl8139" },
	{ "domain.devices.interfaces[].name", STRING, "" },
	{ "domain.devices.interfaces[].ports", ARRAY, "" },
	{ "domain.devices.interfaces[].ports[]", OBJECT, "" },
	{ "domain.devices.interfaces[].ports[].name", STRING, "" },
	{ "domain.devices.interfaces[].ports[].port", INTEGER, "" },
	{ "domain.devices.interfaces[].ports[].protocol", STRING, "TCP UDP" },
	{ "domain.devices.interfaces[].state", STRING, "up down" },
	{ "domain.devices.logSerialConsole", BOOL, "" },
	{ "domain.devices.networkInterfaceMultiqueue", BOOL, "" },
	{ "domain.devices.rng", OBJECT, "" },
	{ "domain.devices.useVirtioTransitional", BOOL, "false" },
	{ "domain.devices.watchdog", OBJECT, "" },
	{ "domain.devices.watchdog.i6300esb", OBJECT, "" },
	{ "domain.devices.watchdog.i6300esb.action", STRING, "poweroff reset shutdown" },
	{ "domain.devices.watchdog.name", STRING, "" },
	{ "domain.features", OBJECT, "" },
	{ "domain.features.acpi", OBJECT, "" },
	{ "domain.features.acpi.enabled", BOOL, "" },
	{ "domain.features.apic", OBJECT, "" },
	{ "domain.features.apic.enabled", BOOL, "" },
	{ "domain.features.apic.endOfInterrupt", BOOL, "" },
	{ "domain.features.kvm", OBJECT, "" },
	{ "domain.features.kvm.hidden", BOOL, "" },
	{ "domain.features.pvspinlock", OBJECT, "" },
	{ "domain.features.pvspinlock.enabled", BOOL, "" },
	{ "domain.firmware", OBJECT, "" },
	{ "domain.firmware.bootloader", OBJECT, "" },
	{ "domain.firmware.bootloader.bios", OBJECT, "" },
	{ "domain.firmware.bootloader.bios.useSerial", BOOL, "" },
	{ "domain.firmware.kernelBoot", OBJECT, "" },
	{ "domain.firmware.kernelBoot.container", OBJECT, "" },
	{ "domain.firmware.kernelBoot.container.image", STRING, "" },
	{ "domain.firmware.kernelBoot.container.imagePullPolicy", STRING, "Always Never IfNotPresent" },
	{ "domain.firmware.kernelBoot.container.imagePullSecret", STRING, "" },
	{ "domain.firmware.kernelBoot.container.initrdPath", STRING, "" },
	{ "domain.firmware.kernelBoot.container.kernelPath", STRING, "" },
	{ "domain.firmware.kernelBoot.kernelArgs", STRING, "" },
	{ "domain.firmware.serial", STRING, "" },
	{ "domain.firmware.uuid", STRING, "" },
	{ "domain.ioThreadsPolicy", STRING, "shared auto" },
	{ "domain.machine", OBJECT, "" },
	{ "domain.machine.type", STRING, "" },
	{ "domain.memory", OBJECT, "" },
	{ "domain.memory.guest", QUANTITY, "" },
	{ "domain.rebootPolicy", STRING, "Reboot" },
	{ "domain.resources", OBJECT, "" },
	{ "domain.resources.limits", ANY, "" },
	{ "domain.resources.overcommitGuestOverhead", BOOL, "" },
	{ "domain.resources.requests", ANY, "" },
	{ "evictionStrategy", STRING, "" },
	{ "hostname", STRING, "" },
	{ "networks", ARRAY, "" },
	{ "networks[]", OBJECT, "" },
	{ "networks[].multus", OBJECT, "" },
	{ "networks[].multus.default", BOOL, "" },
	{ "networks[].multus.networkName", STRING, "" },
	{ "networks[].name", STRING, "" },
	{ "networks[].pod", OBJECT, "" },
	{ "networks[].pod.vmIPv6NetworkCIDR", STRING, "" },
	{ "networks[].pod.vmNetworkCIDR", STRING, "" },
	{ "nodeSelector", ANY, "" },
	{ "priorityClassName", STRING, "" },
	{ "schedulerName", STRING, "" },
	{ "startStrategy", STRING, "Paused" },
	{ "subdomain", STRING, "" },
	{ "terminationGracePeriodSeconds", INTEGER, "" },
	{ "tolerations", ANY, "" },
	{ "topologySpreadConstraints", ANY, "" },
	{ "volumes", ARRAY, "" },
	{ "volumes[]", OBJECT, "" },
	{ "volumes[].cloudInitNoCloud", OBJECT, "" },
	{ "volumes[].cloudInitNoCloud.networkData", STRING, "" },
	{ "volumes[].cloudInitNoCloud.networkDataBase64", STRING, "" },
	{ "volumes[].cloudInitNoCloud.networkDataSecretRef", OBJECT, "" },
	{ "volumes[].cloudInitNoCloud.networkDataSecretRef.name", STRING, "" },
	{ "volumes[].cloudInitNoCloud.secretRef", OBJECT, "" },
	{ "volumes[].cloudInitNoCloud.secretRef.name", STRING, "" },
	{ "volumes[].cloudInitNoCloud.userData", STRING, "" },
	{ "volumes[].cloudInitNoCloud.userDataBase64", STRING, "" },
	{ "volumes[].containerDisk", OBJECT, "" },
	{ "volumes[].containerDisk.image", STRING, "" },
	{ "volumes[].containerDisk.imagePullPolicy", STRING, "Always Never IfNotPresent" },
	{ "volumes[].containerDisk.imagePullSecret", STRING, "" },
	{ "volumes[].containerDisk.path", STRING, "" },
	{ "volumes[].dataVolume", OBJECT, "" },
	{ "volumes[].dataVolume.hotpluggable", BOOL, "false" },
	{ "volumes[].dataVolume.name", STRING, "" },
	{ "volumes[].emptyDisk", OBJECT, "" },
	{ "volumes[].emptyDisk.capacity", QUANTITY, "" },
	{ "volumes[].hostDisk", OBJECT, "" },
	{ "volumes[].hostDisk.capacity", QUANTITY, "" },
	{ "volumes[].hostDisk.path", STRING, "" },
	{ "volumes[].hostDisk.shared", BOOL, "" },
	{ "volumes[].hostDisk.type", STRING, "Disk DiskOrCreate" },
	{ "volumes[].name", STRING, "" },
	{ "volumes[].persistentVolumeClaim", OBJECT, "" },
	{ "volumes[].persistentVolumeClaim.claimName", STRING, "" },
	{ "volumes[].persistentVolumeClaim.hotpluggable", BOOL, "false" },
	{ "volumes[].persistentVolumeClaim.readOnly", BOOL, "" },
};
/* clang-format on */

static int
compare(const void *key, const void *row)
{
	return strcmp(key, ((const struct row *)row)->path);
}

static const struct row *
find(const char *path)
{
	return bsearch(path, rows, ARRAY_LEN(rows), sizeof(rows[0]), compare);
}

const char *
domain_subset_path(size_t row)
{
	return row < ARRAY_LEN(rows) ? rows[row].path : NULL;
}

const char *
domain_subset_values(size_t row)
{
	return rows[row].values;
}

/* A container whose members are being looked at. */
struct frame {
	json_t *value;
	void *member; /* of an object: the next */
	size_t item;  /* of an array: the next */
	size_t path_len, pattern_len;
};

struct walk {
	struct frame stack[DEPTH_MAX];
	size_t depth;
	char path[2 * DOMAIN_PATH_MAX]; /* "spec.volumes[3].name" */
	size_t path_len;
	char pattern[DOMAIN_PATH_MAX]; /* "volumes[].name" */
	size_t pattern_len;
	struct status *st;
};

/* Appends and cuts; what was cut is in no row. */
__attribute__((format(printf, 4, 5))) static void
extend(char *text, size_t size, size_t *len, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text + *len, size - *len, fmt, ap);
	va_end(ap);
	*len += n > 0 ? (size_t)n : 0;
	if (*len > size - 1)
		*len = size - 1;
}

static bool
is_of_kind(const json_t *value, enum kind kind)
{
	switch (kind) {
	case OBJECT:
		return json_is_object(value);
	case ARRAY:
		return json_is_array(value);
	case STRING:
		return json_is_string(value);
	case INTEGER:
		return json_is_integer(value);
	case BOOL:
		return json_is_boolean(value);
	case QUANTITY:
		return json_is_string(value) || json_is_integer(value);
	case ANY:
		return true;
	}
	return false;
}

static const char *
value_text(const json_t *value)
{
	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	return json_is_string(value) ? json_string_value(value) : "";
}

static bool
is_allowed(const struct row *row, const json_t *value)
{
	const char *text = value_text(value);
	const char *at = row->values;
	size_t len = strlen(text);

	while (*at != '\0') {
		size_t word = strcspn(at, " ");

		if (word == len && memcmp(at, text, len) == 0)
			return true;
		at += word;
		at += strspn(at, " ");
	}
	return row->values[0] == '\0' || len == 0;
}

static void
push(struct walk *walk, json_t *value)
{
	/* The table is not that deep. */
	if (walk->depth == DEPTH_MAX)
		return;
	walk->stack[walk->depth++] = (struct frame){
		.value = value,
		.member = json_object_iter(value),
		.path_len = walk->path_len,
		.pattern_len = walk->pattern_len,
	};
}

static void
visit(struct walk *walk, json_t *value)
{
	const struct row *row = find(walk->pattern);

	if (json_is_null(value))
		return;
	if (row == NULL) {
		(void)check_deny(walk->st, CHECK_NOT_SUPPORTED, walk->path,
				 "%s is not supported", walk->path);
		return;
	}
	if (!is_of_kind(value, row->kind)) {
		(void)check_deny(walk->st, CHECK_INVALID, walk->path,
				 "%s must be %s", walk->path,
				 kind_texts[row->kind]);
		return;
	}
	if (!is_allowed(row, value)) {
		(void)check_deny(walk->st, CHECK_NOT_SUPPORTED, walk->path,
				 "%s '%.*s' is not supported, only: %s",
				 walk->path, NAME_SHOWN_MAX, value_text(value),
				 row->values);
		return;
	}
	if (row->kind == OBJECT || row->kind == ARRAY)
		push(walk, value);
}

/* Leads to the next member or item; NULL when there is none. */
static json_t *
next(struct walk *walk, struct frame *frame)
{
	const char *name;
	json_t *value;

	walk->path_len = frame->path_len;
	walk->pattern_len = frame->pattern_len;
	if (json_is_array(frame->value)) {
		value = json_array_get(frame->value, frame->item);
		extend(walk->path, sizeof(walk->path), &walk->path_len, "[%zu]",
		       frame->item++);
		extend(walk->pattern, sizeof(walk->pattern), &walk->pattern_len,
		       "[]");
		return value;
	}
	if (frame->member == NULL)
		return NULL;
	value = json_object_iter_value(frame->member);
	name = json_object_iter_key(frame->member);
	extend(walk->path, sizeof(walk->path), &walk->path_len, ".%.*s",
	       NAME_SHOWN_MAX, name);
	/* "a.b" is not the member b of a. */
	extend(walk->pattern, sizeof(walk->pattern), &walk->pattern_len, "%s%s",
	       frame->pattern_len == 0 ? "" : ".",
	       strpbrk(name, ".[") == NULL ? name : "?");
	frame->member = json_object_iter_next(frame->value, frame->member);
	return value;
}

int
domain_check_subset(const json_t *spec, const char *prefix, struct status *st)
{
	struct walk walk = { .st = st };

	extend(walk.path, sizeof(walk.path), &walk.path_len, "%s", prefix);
	if (!json_is_object(spec))
		return check_deny(st, CHECK_REQUIRED, prefix,
				  "%s is a required field", prefix);
	push(&walk, (json_t *)(uintptr_t)spec);
	while (walk.depth > 0 && check_count(st) < CAUSES_MAX) {
		json_t *value = next(&walk, &walk.stack[walk.depth - 1]);

		if (value == NULL)
			walk.depth--;
		else
			visit(&walk, value);
	}
	return st->code == 0 ? 0 : -1;
}
