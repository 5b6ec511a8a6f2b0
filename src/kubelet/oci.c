/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/oci.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/obj.h"
#include "kubelet/env.h"
#include "kubelet/hide.h"
#include "kubelet/image.h"
#include "kubelet/settings.h"

#define OCI_VERSION "1.0.2"
/* What a container may write into the root of the host's own image: nothing
 * but the places where something is mounted. */
#define HOST_LAYER_BYTES (16 * 1024 * 1024)

const json_t *
oci_security(const struct oci_request *r, const char *member)
{
	const json_t *own = json_object_get(
		js_obj_at(r->container, "securityContext"), member);

	return own != NULL ? own
			   : json_object_get(
				     js_obj_at(r->pod, "spec.securityContext"),
				     member);
}

bool
oci_is_privileged(const json_t *container)
{
	return js_bool_at(container, "securityContext.privileged", false);
}

static void
append_expanded(json_t *args, const json_t *from, const json_t *env)
{
	const json_t *one;
	size_t i;

	json_array_foreach(from, i, one)
	{
		AUTO(free_ptr) char *text = NULL;

		if (!json_is_string(one))
			continue;
		text = env_expand(env, json_string_value(one));
		(void)json_array_append_new(args, json_string(text));
	}
}

/* command replaces the image's entrypoint and its command, args the latter. */
static json_t *
make_args(const struct oci_request *r, const json_t *env, struct err *err)
{
	const json_t *command = js_arr_at(r->container, "command");
	const json_t *args = js_arr_at(r->container, "args");
	json_t *all = json_array();

	if (json_array_size(command) > 0) {
		append_expanded(all, command, env);
		append_expanded(all, args, env);
	} else {
		append_expanded(all, js_arr_at(r->image->config, "entrypoint"),
				env);
		if (json_array_size(args) == 0)
			args = js_arr_at(r->image->config, "command");
		append_expanded(all, args, env);
	}
	if (json_array_size(all) > 0)
		return all;
	json_decref(all);
	(void)err_set(err, ERR_INVALID, "no command specified");
	return NULL;
}

static json_t *
make_user(const struct oci_request *r, struct err *err)
{
	const json_t *uid = oci_security(r, "runAsUser");
	const json_t *gid = oci_security(r, "runAsGroup");
	const json_t *fs_group = json_object_get(
		js_obj_at(r->pod, "spec.securityContext"), "fsGroup");
	const char *own = js_str_at(r->image->config, "user");
	unsigned long own_uid, own_gid = 0;
	char *rest;
	AUTO(js_unref)
	json_t *groups = json_deep_copy(
		js_arr_at(r->pod, "spec.securityContext.supplementalGroups"));
	json_int_t user;

	own_uid = strtoul(own, &rest, 10);
	if (*rest == ':')
		own_gid = strtoul(rest + 1, NULL, 10);
	user = uid == NULL ? (json_int_t)own_uid : json_integer_value(uid);
	if (user == 0 && json_is_true(oci_security(r, "runAsNonRoot"))) {
		(void)err_set(err, ERR_INVALID,
			      "container has runAsNonRoot and image will run "
			      "as root");
		return NULL;
	}
	if (groups == NULL)
		groups = json_array();
	if (fs_group != NULL)
		(void)json_array_append(groups, (json_t *)(uintptr_t)fs_group);
	return json_pack("{s:I, s:I, s:O}", "uid", user, "gid",
			 gid == NULL ? (json_int_t)own_gid
				     : json_integer_value(gid),
			 "additionalGids", groups);
}

static json_t *
make_process(const struct oci_request *r, struct err *err)
{
	AUTO(js_unref)
	json_t *env = env_make(r->pod, r->container, r->image->config, r->have,
			       r->facts, err);
	AUTO(js_unref) json_t *args = NULL;
	AUTO(js_unref) json_t *user = NULL;
	AUTO(js_unref) json_t *caps = NULL;
	const char *cwd = js_str_at(r->container, "workingDir");
	const json_t *escalate = oci_security(r, "allowPrivilegeEscalation");

	if (env == NULL || (args = make_args(r, env, err)) == NULL ||
	    (user = make_user(r, err)) == NULL ||
	    (caps = oci_capabilities(js_obj_at(r->container, "securityContext"),
				     err)) == NULL)
		return NULL;
	if (*cwd == '\0')
		cwd = js_str_at(r->image->config, "workingDir");
	return json_pack("{s:b, s:O, s:O, s:O, s:s, s:O, s:b}", "terminal", 0,
			 "user", user, "args", args, "env", env, "cwd",
			 *cwd == '\0' ? "/" : cwd, "capabilities", caps,
			 "noNewPrivileges", json_is_false(escalate));
}

static json_t *
make_namespaces(const struct oci_request *r)
{
	static const struct {
		const char *type;
		const char *host;
	} shared[] = {
		{ "network", "spec.hostNetwork" },
		{ "ipc", "spec.hostIPC" },
		{ "uts", "spec.hostNetwork" },
	};
	json_t *all =
		json_pack("[{s:s}, {s:s}]", "type", "mount", "type", "cgroup");

	if (!js_bool_at(r->pod, "spec.hostPID", false))
		(void)json_array_append_new(all,
					    json_pack("{s:s}", "type", "pid"));
	for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
		if (js_bool_at(r->pod, shared[i].host, false))
			continue;
		(void)json_array_append_new(
			all,
			json_pack("{s:s, s:o}", "type", shared[i].type, "path",
				  json_sprintf("%s/%s", r->ns_dir,
					       shared[i].type)));
	}
	return all;
}

/* What not even root in a container has any business with. */
static void
hide_paths(json_t *system)
{
	static const char *const masked[] = { "/proc/acpi",
					      "/proc/asound",
					      "/proc/kcore",
					      "/proc/keys",
					      "/proc/latency_stats",
					      "/proc/timer_list",
					      "/proc/timer_stats",
					      "/proc/sched_debug",
					      "/proc/scsi",
					      "/sys/firmware",
					      "/sys/devices/virtual/powercap" };
	static const char *const fixed[] = { "/proc/bus", "/proc/fs",
					     "/proc/irq", "/proc/sys",
					     "/proc/sysrq-trigger" };
	json_t *hidden = json_array();
	json_t *readonly = json_array();

	for (size_t i = 0; i < ARRAY_LEN(masked); i++)
		(void)json_array_append_new(hidden, json_string(masked[i]));
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		(void)json_array_append_new(readonly, json_string(fixed[i]));
	(void)json_object_set_new(system, "maskedPaths", hidden);
	(void)json_object_set_new(system, "readonlyPaths", readonly);
}

static json_t *
make_linux(const struct oci_request *r, const json_t *limits)
{
	bool privileged = oci_is_privileged(r->container);
	json_t *devices = oci_devices(r);
	json_t *system =
		json_pack("{s:s, s:o, s:o}", "cgroupsPath", r->cgroup,
			  "namespaces", make_namespaces(r), "devices", devices);

	if (r->unified)
		(void)json_object_set_new(
			system, "resources",
			oci_resources(limits, devices, privileged));
	if (!privileged) {
		hide_paths(system);
		(void)json_object_set_new(system, "seccomp", oci_seccomp());
	}
	return system;
}

static json_t *
make_monitor(const struct oci_request *r, const json_t *limits, json_t *parts)
{
	json_t *own = json_deep_copy(limits);
	json_t *monitor;
	bool privileged = oci_is_privileged(r->container);
	AUTO(js_unref) json_t *devices = oci_devices(r);

	if (!privileged)
		(void)json_object_set_new(own, "devices",
					  oci_device_lines(devices));
	monitor =
		json_pack("{s:s, s:s, s:o, s:s, s:i, s:O, s:s, s:o, s:I}", "id",
			  r->id, "crun", r->settings->crun, "crunRoot",
			  json_sprintf("%s/crun", r->settings->run_dir),
			  "lower", r->image->root, "upperMemory",
			  r->image->host ? HOST_LAYER_BYTES : 0, "parts", parts,
			  "cgroup", r->cgroup, "limits", own, "logMaxBytes",
			  (json_int_t)r->settings->log_max_bytes);
	if (r->image->host && !privileged)
		(void)json_object_set_new(monitor, "hidden",
					  hide_list(r->settings));
	return monitor;
}

int
oci_make(const struct oci_request *r, json_t **ret_config, json_t **ret_monitor,
	 struct err *err)
{
	AUTO(js_unref) json_t *parts = json_array();
	AUTO(js_unref) json_t *mounts = NULL;
	AUTO(js_unref) json_t *process = NULL;
	AUTO(js_unref) json_t *limits = NULL;
	const json_t *readonly = oci_security(r, "readOnlyRootFilesystem");

	if ((limits = oci_limits(r->container, err)) == NULL ||
	    (process = make_process(r, err)) == NULL ||
	    (mounts = oci_mounts(r, parts, err)) == NULL)
		return -1;
	*ret_config = json_pack(
		"{s:s, s:O, s:{s:s, s:b}, s:O, s:o}", "ociVersion", OCI_VERSION,
		"process", process, "root", "path", "rootfs", "readonly",
		r->image->host || json_is_true(readonly), "mounts", mounts,
		"linux", make_linux(r, limits));
	*ret_monitor = make_monitor(r, limits, parts);
	return 0;
}
