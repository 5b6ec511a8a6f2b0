/* SPDX-License-Identifier: Apache-2.0 */

/* What a container may use: resources, devices, capabilities, system calls. */

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kubelet/image.h"
#include "kubelet/oci.h"
#include "kubelet/settings.h"
#include "meta/quantity.h"

#define PERIOD_US 100000
#define SHARES_MIN 2
#define SHARES_MAX 262144
#define SHARES_PER_CPU 1024
#define PIDS_MAX 32768

static int
amount(const json_t *container, const char *which, const char *resource,
       struct quantity *ret, struct err *err)
{
	const char *text = json_string_value(json_object_get(
		json_object_get(js_obj_at(container, "resources"), which),
		resource));

	*ret = QUANTITY_ZERO;
	if (text != NULL && quantity_parse(text, ret, err) == -1)
		return err_prefix(err, "resources.%s.%s", which, resource);
	return 0;
}

json_t *
oci_limits(const json_t *container, struct err *err)
{
	struct quantity cpu, request, memory;
	int64_t shares;

	if (amount(container, "limits", "cpu", &cpu, err) == -1 ||
	    amount(container, "requests", "cpu", &request, err) == -1 ||
	    amount(container, "limits", "memory", &memory, err) == -1)
		return NULL;
	shares = quantity_milli(&request) * SHARES_PER_CPU / 1000;
	if (shares < SHARES_MIN)
		shares = SHARES_MIN;
	if (shares > SHARES_MAX)
		shares = SHARES_MAX;
	return json_pack("{s:I, s:I, s:I, s:I}", "cpuMilli",
			 (json_int_t)quantity_milli(&cpu), "cpuShares",
			 (json_int_t)shares, "memoryBytes",
			 (json_int_t)quantity_value(&memory), "pids",
			 (json_int_t)PIDS_MAX);
}

json_t *
oci_resources(const json_t *limits, const json_t *devices, bool privileged)
{
	json_int_t cpu = js_int_at(limits, "cpuMilli", 0);
	json_int_t memory = js_int_at(limits, "memoryBytes", 0);
	json_t *all = json_pack(
		"{s:{s:I}, s:{s:I}, s:[{s:b, s:s}]}", "cpu", "shares",
		(json_int_t)js_int_at(limits, "cpuShares", SHARES_MIN), "pids",
		"limit", (json_int_t)js_int_at(limits, "pids", PIDS_MAX),
		"devices", "allow", privileged, "access", "rwm");
	json_t *rules = js_arr_at(all, "devices");
	const json_t *device;
	size_t i;

	if (cpu > 0) {
		(void)json_object_set_new(
			js_obj_at(all, "cpu"), "quota",
			json_integer(cpu * (PERIOD_US / 1000)));
		(void)json_object_set_new(js_obj_at(all, "cpu"), "period",
					  json_integer(PERIOD_US));
	}
	if (memory > 0)
		(void)json_object_set_new(all, "memory",
					  json_pack("{s:I}", "limit", memory));
	json_array_foreach(devices, i, device)
	{
		(void)json_array_append_new(
			rules,
			json_pack("{s:b, s:s, s:I, s:I, s:s}", "allow", 1,
				  "type", js_str_at(device, "type"), "major",
				  (json_int_t)js_int_at(device, "major", 0),
				  "minor",
				  (json_int_t)js_int_at(device, "minor", 0),
				  "access", "rwm"));
	}
	return all;
}

static void
add_device(json_t *devices, const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1 ||
	    (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode)) ||
	    js_find(devices, "path", path) != NULL)
		return;
	(void)json_array_append_new(
		devices,
		json_pack("{s:s, s:s, s:I, s:I, s:i}", "path", path, "type",
			  S_ISCHR(st.st_mode) ? "c" : "b", "major",
			  (json_int_t)major(st.st_rdev), "minor",
			  (json_int_t)minor(st.st_rdev), "fileMode", 0666));
}

json_t *
oci_devices(const struct oci_request *r)
{
	static const struct {
		const char *resource;
		const char *path;
	} by_resource[] = {
		{ "devices.kubevirt.io/kvm", "/dev/kvm" },
		{ "devices.kubevirt.io/tun", "/dev/net/tun" },
		{ "devices.kubevirt.io/vhost-net", "/dev/vhost-net" },
	};
	const json_t *limits = js_obj_at(r->container, "resources.limits");
	json_t *devices = json_array();
	const json_t *path;
	size_t i;

	for (i = 0; i < ARRAY_LEN(by_resource); i++) {
		if (json_object_get(limits, by_resource[i].resource) != NULL)
			add_device(devices, by_resource[i].path);
	}
	json_array_foreach(js_arr_at(r->image->config, "devices"), i, path)
	{
		if (json_is_string(path))
			add_device(devices, json_string_value(path));
	}
	return devices;
}

json_t *
oci_device_lines(const json_t *devices)
{
	/* Nodes may be made, and the usual ones used. */
	json_t *lines = json_pack("[s, s, s, s, s, s, s, s, s, s]", "c *:* m",
				  "b *:* m", "c 1:3 rwm", "c 1:5 rwm",
				  "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm",
				  "c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm");
	const json_t *device;
	size_t i;

	json_array_foreach(devices, i, device)
	{
		(void)json_array_append_new(
			lines,
			json_sprintf("%s %d:%d rwm", js_str_at(device, "type"),
				     (int)js_int_at(device, "major", 0),
				     (int)js_int_at(device, "minor", 0)));
	}
	return lines;
}

static const char *const cap_names[] = {
	[CAP_CHOWN] = "CHOWN",
	[CAP_DAC_OVERRIDE] = "DAC_OVERRIDE",
	[CAP_DAC_READ_SEARCH] = "DAC_READ_SEARCH",
	[CAP_FOWNER] = "FOWNER",
	[CAP_FSETID] = "FSETID",
	[CAP_KILL] = "KILL",
	[CAP_SETGID] = "SETGID",
	[CAP_SETUID] = "SETUID",
	[CAP_SETPCAP] = "SETPCAP",
	[CAP_LINUX_IMMUTABLE] = "LINUX_IMMUTABLE",
	[CAP_NET_BIND_SERVICE] = "NET_BIND_SERVICE",
	[CAP_NET_BROADCAST] = "NET_BROADCAST",
	[CAP_NET_ADMIN] = "NET_ADMIN",
	[CAP_NET_RAW] = "NET_RAW",
	[CAP_IPC_LOCK] = "IPC_LOCK",
	[CAP_IPC_OWNER] = "IPC_OWNER",
	[CAP_SYS_MODULE] = "SYS_MODULE",
	[CAP_SYS_RAWIO] = "SYS_RAWIO",
	[CAP_SYS_CHROOT] = "SYS_CHROOT",
	[CAP_SYS_PTRACE] = "SYS_PTRACE",
	[CAP_SYS_PACCT] = "SYS_PACCT",
	[CAP_SYS_ADMIN] = "SYS_ADMIN",
	[CAP_SYS_BOOT] = "SYS_BOOT",
	[CAP_SYS_NICE] = "SYS_NICE",
	[CAP_SYS_RESOURCE] = "SYS_RESOURCE",
	[CAP_SYS_TIME] = "SYS_TIME",
	[CAP_SYS_TTY_CONFIG] = "SYS_TTY_CONFIG",
	[CAP_MKNOD] = "MKNOD",
	[CAP_LEASE] = "LEASE",
	[CAP_AUDIT_WRITE] = "AUDIT_WRITE",
	[CAP_AUDIT_CONTROL] = "AUDIT_CONTROL",
	[CAP_SETFCAP] = "SETFCAP",
	[CAP_MAC_OVERRIDE] = "MAC_OVERRIDE",
	[CAP_MAC_ADMIN] = "MAC_ADMIN",
	[CAP_SYSLOG] = "SYSLOG",
	[CAP_WAKE_ALARM] = "WAKE_ALARM",
	[CAP_BLOCK_SUSPEND] = "BLOCK_SUSPEND",
	[CAP_AUDIT_READ] = "AUDIT_READ",
	[CAP_PERFMON] = "PERFMON",
	[CAP_BPF] = "BPF",
	[CAP_CHECKPOINT_RESTORE] = "CHECKPOINT_RESTORE",
};

#define BIT(cap) (UINT64_C(1) << (cap))
#define ALL_CAPS (BIT(ARRAY_LEN(cap_names)) - 1)
/* What containers have elsewhere. */
#define DEFAULT_CAPS                                                          \
	(BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FSETID) |           \
	 BIT(CAP_FOWNER) | BIT(CAP_MKNOD) | BIT(CAP_NET_RAW) |                \
	 BIT(CAP_SETGID) | BIT(CAP_SETUID) | BIT(CAP_SETFCAP) |               \
	 BIT(CAP_SETPCAP) | BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_SYS_CHROOT) | \
	 BIT(CAP_KILL) | BIT(CAP_AUDIT_WRITE))

static int
cap_bits(const json_t *names, uint64_t *ret, struct err *err)
{
	const json_t *one;
	size_t i;

	*ret = 0;
	json_array_foreach(names, i, one)
	{
		const char *name = json_string_value(one);
		size_t k = 0;

		if (name != NULL && str_has_prefix(name, "CAP_"))
			name += strlen("CAP_");
		if (str_equal(name, "ALL")) {
			*ret |= ALL_CAPS;
			continue;
		}
		while (k < ARRAY_LEN(cap_names) &&
		       !str_equal(name, cap_names[k]))
			k++;
		if (k == ARRAY_LEN(cap_names))
			return err_set(err, ERR_INVALID,
				       "capability '%s' is not known",
				       name == NULL ? "" : name);
		*ret |= BIT(k);
	}
	return 0;
}

json_t *
oci_capabilities(const json_t *security, struct err *err)
{
	uint64_t added, dropped, bits;
	json_t *names;

	if (cap_bits(js_arr_at(security, "capabilities.add"), &added, err) ==
		    -1 ||
	    cap_bits(js_arr_at(security, "capabilities.drop"), &dropped, err) ==
		    -1)
		return NULL;
	bits = (DEFAULT_CAPS & ~dropped) | added;
	if (js_bool_at(security, "privileged", false))
		bits = ALL_CAPS;
	names = json_array();
	for (size_t i = 0; i < ARRAY_LEN(cap_names); i++) {
		/* What the node does not have it cannot give. */
		if ((bits & BIT(i)) != 0 && prctl(PR_CAPBSET_READ, i) == 1)
			(void)json_array_append_new(
				names, json_sprintf("CAP_%s", cap_names[i]));
	}
	return json_pack("{s:O, s:O, s:o}", "bounding", names, "effective",
			 names, "permitted", names);
}

/*
 * Calls that reach beyond a container, or that nothing in one needs. Most would
 * fail anyway for want of a capability; this is the second lock.
 */
json_t *
oci_seccomp(void)
{
	static const char *const refused[] = {
		"acct",
		"add_key",
		"bpf",
		"delete_module",
		"finit_module",
		"init_module",
		"ioperm",
		"iopl",
		"kexec_file_load",
		"kexec_load",
		"keyctl",
		"lookup_dcookie",
		"nfsservctl",
		"open_by_handle_at",
		"perf_event_open",
		"quotactl",
		"reboot",
		"request_key",
		"settimeofday",
		"clock_settime",
		"swapoff",
		"swapon",
		"syslog",

		"uselib",
		"ustat",
		"vm86",
		"vm86old",
	};
	json_t *names = json_array();

	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		(void)json_array_append_new(names, json_string(refused[i]));
	return json_pack("{s:s, s:[{s:o, s:s, s:i}]}", "defaultAction",
			 "SCMP_ACT_ALLOW", "syscalls", "names", names, "action",
			 "SCMP_ACT_ERRNO", "errnoRet", 1);
}
