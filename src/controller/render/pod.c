/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/config.h"
#include "api/kinds.h"
#include "api/names.h"
#include "api/placement.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/render/networks.h"
#include "controller/render/pod.h"
#include "controller/render/render.h"
#include "controller/render/resources.h"
#include "controller/render/volumes.h"
#include "kube/obj.h"
#include "meta/names.h"
#include "tls/digest.h"

#define ANNOTATION_DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"

#define GRACE_DEFAULT_S 30
#define GRACE_MAX_S (INT64_C(10) * 365 * 24 * 60 * 60)
/* The guest is asked, then the launcher is told, then the pod is killed. */
#define GRACE_PAD_S 15

/* How long a launcher waits for its machine: at least, and up to so much
 * more. */
#define START_TIMEOUT_S 240
#define START_TIMEOUT_SPREAD_S 120

static bool
is_nonroot(const json_t *vmi, const struct render_env *env)
{
	if (js_at(vmi, "status.runtimeUser") != NULL)
		return js_int_at(vmi, "status.runtimeUser", 0) != 0;
	return !kubevirt_config_gate(env->config, GATE_ROOT);
}

/* The part of the name that a host name can be; to be freed. */
static char *
host_name(const json_t *vmi)
{
	const char *name = js_str_at(vmi, "spec.hostname");
	size_t len;

	if (*name == '\0')
		name = obj_name(vmi);
	len = strcspn(name, ".");
	if (len > NAME_LABEL_MAX)
		len = NAME_LABEL_MAX;
	while (len > 0 && name[len - 1] == '-')
		len--;
	return xstrndup(name, len);
}

/* The name where it can be the value of a label, else a cut of it that is as
 * unique; to be freed. */
static char *
label_value(const char *name)
{
	char hash[DIGEST_SHA256_HEX_SIZE];

	if (strlen(name) <= NAME_LABEL_MAX)
		return xstrdup(name);
	(void)digest_sha256_hex(name, strlen(name), hash);
	return xasprintf("%.50s-%.12s", name, hash);
}

/* The instance's own, but for those that say where it runs. */
static json_t *
labels_of(const json_t *vmi, const char *hostname)
{
	static const char *const not_pods[] = {
		LABEL_NODE,
		LABEL_MIGRATION_TARGET_NODE,
		LABEL_OUTDATED_IMAGE,
		LABEL_MIGRATION_UID,
	};
	const json_t *own = js_obj_at(vmi, "metadata.labels");
	json_t *labels = own == NULL ? json_object() : json_deep_copy(own);
	AUTO(free_ptr) char *id = label_value(obj_name(vmi));

	for (size_t i = 0; i < ARRAY_LEN(not_pods); i++)
		json_object_del(labels, not_pods[i]);
	json_object_set_new(labels, LABEL_APP, json_string(APP_LAUNCHER));
	json_object_set_new(labels, LABEL_CREATED_BY,
			    json_string(obj_uid(vmi)));
	json_object_set_new(labels, LABEL_VM_NAME, json_string(hostname));
	json_object_set_new(labels, LABEL_VMI_ID, json_string(id));
	return labels;
}

static json_t *
annotations_of(const json_t *vmi, int64_t overhead)
{
	static const char *const not_pods[] = {
		"kubectl.kubernetes.io/",
		ANNOTATION_LATEST_VERSION,
		ANNOTATION_STORAGE_VERSION,
		/* Said of a pod, by who knows it. */
		ANNOTATION_TARGET_READY,
		ANNOTATION_MIGRATION_NAME,
		ANNOTATION_EVICTING,
	};
	json_t *annotations =
		json_pack("{s:s}", ANNOTATION_DOMAIN, obj_name(vmi));
	char text[24];
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach(js_obj_at(vmi, "metadata.annotations"), key, value)
	{
		for (i = 0; i < ARRAY_LEN(not_pods); i++) {
			if (str_has_prefix(key, not_pods[i]))
				break;
		}
		if (i == ARRAY_LEN(not_pods))
			json_object_set(annotations, key, value);
	}
	(void)snprintf(text, sizeof(text), "%" PRId64, overhead);
	json_object_set_new(annotations, ANNOTATION_MEMORY_OVERHEAD,
			    json_string(text));
	json_object_set_new(annotations, ANNOTATION_TRANSPORT_UNIX,
			    json_string("true"));
	json_object_set_new(annotations, ANNOTATION_EVICT_ONLY,
			    json_string(""));
	json_object_set_new(annotations, ANNOTATION_DEFAULT_CONTAINER,
			    json_string(RENDER_COMPUTE));
	return annotations;
}

static int64_t
grace_seconds(const json_t *vmi)
{
	int64_t grace = js_int_at(vmi, "spec.terminationGracePeriodSeconds",
				  GRACE_DEFAULT_S);

	if (grace < 0)
		return 0;
	return grace > GRACE_MAX_S ? GRACE_MAX_S : grace;
}

static void
append_number(json_t *command, const char *option, int64_t n, const char *unit)
{
	AUTO(free_ptr) char *text = xasprintf("%" PRId64 "%s", n, unit);

	json_array_append_new(command, json_string(option));
	json_array_append_new(command, json_string(text));
}

static json_t *
command_of(const json_t *vmi, const struct render_env *env)
{
	json_t *command = json_pack(
		"[s, s,s, s,s, s,s, s,s, s,s, s,s]",
		env->launcher_command == NULL ? RENDER_LAUNCHER
					      : env->launcher_command,
		"--name", obj_name(vmi), "--namespace", obj_ns(vmi), "--uid",
		obj_uid(vmi), "--kubevirt-share-dir", VOLUMES_SHARE_DIR,
		"--ephemeral-disk-dir", VOLUMES_EPHEMERAL_DIR,
		"--container-disk-dir", VOLUMES_IMAGES_DIR);

	append_number(command, "--qemu-timeout",
		      START_TIMEOUT_S + env->random % START_TIMEOUT_SPREAD_S,
		      "s");
	append_number(command, "--grace-period-seconds",
		      grace_seconds(vmi) + GRACE_PAD_S, "");
	if (is_nonroot(vmi, env))
		json_array_append_new(command, json_string("--run-as-nonroot"));
	if (env->config->use_emulation)
		json_array_append_new(command,
				      json_string("--allow-emulation"));
	return command;
}

static json_t *
container_security(bool nonroot)
{
	if (nonroot) {
		return json_pack("{s:i, s:i, s:b, s:b, s:{s:[s], s:[s]}}",
				 "runAsUser", RENDER_NONROOT_ID, "runAsGroup",
				 RENDER_NONROOT_ID, "runAsNonRoot", true,
				 "allowPrivilegeEscalation", false,
				 "capabilities", "drop", "ALL", "add",
				 "NET_BIND_SERVICE");
	}
	/* SYS_PTRACE: QEMU asks for it before it takes guests by post-copy. */
	return json_pack("{s:i, s:{s:[s, s, s]}}", "runAsUser", 0,
			 "capabilities", "add", "NET_BIND_SERVICE", "SYS_NICE",
			 "SYS_PTRACE");
}

static json_t *
pod_security(const struct render_env *env, bool nonroot)
{
	const char *type = js_str_at(env->configuration, "selinuxLauncherType");
	json_t *security;

	if (nonroot) {
		security = json_pack("{s:i, s:i, s:b, s:i}", "runAsUser",
				     RENDER_NONROOT_ID, "runAsGroup",
				     RENDER_NONROOT_ID, "runAsNonRoot", true,
				     "fsGroup", RENDER_NONROOT_ID);
	} else {
		security = json_pack("{s:i}", "runAsUser", 0);
	}
	if (*type != '\0')
		json_object_set_new(security, "seLinuxOptions",
				    json_pack("{s:s}", "type", type));
	return security;
}

/* Members are copied from the machine as they are, when it has them. */
static void
copy_members(json_t *to, const json_t *vmi_spec)
{
	static const char *const members[] = {
		"affinity",
		"tolerations",
		"topologySpreadConstraints",
		"schedulerName",
		"priorityClassName",
		"subdomain",
		"dnsPolicy",
		"dnsConfig",
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		json_t *value = js_at(vmi_spec, members[i]);

		if (value != NULL && !(json_is_string(value) &&
				       *json_string_value(value) == '\0'))
			json_object_set_new(to, members[i],
					    json_deep_copy(value));
	}
}

static json_t *
compute_of(const json_t *vmi, const struct render_env *env,
	   const struct volumes *volumes, const json_t *resources)
{
	const char *policy = env->config->image_pull_policy;
	json_t *compute = json_pack(
		"{s:s, s:s, s:o, s:o, s:O, s:O, s:[{s:s, s:{s:{s:s}}}]}",
		"name", RENDER_COMPUTE, "image", env->launcher_image, "command",
		command_of(vmi, env), "securityContext",
		container_security(is_nonroot(vmi, env)), "resources",
		resources, "volumeMounts", volumes->mounts, "env", "name",
		"POD_NAME", "valueFrom", "fieldRef", "fieldPath",
		"metadata.name");

	if (*policy != '\0')
		json_object_set_new(compute, "imagePullPolicy",
				    json_string(policy));
	if (json_array_size(volumes->devices) > 0)
		json_object_set(compute, "volumeDevices", volumes->devices);
	return compute;
}

static json_t *
spec_of(const json_t *vmi, const struct render_env *env,
	const struct volumes *volumes, const json_t *resources)
{
	const char *runtime =
		js_str_at(env->configuration, "defaultRuntimeClass");
	AUTO(free_ptr) char *hostname = host_name(vmi);
	json_t *spec = json_pack(
		"{s:s, s:s, s:o, s:I, s:o, s:[o], s:O, s:b, s:b}", "hostname",
		hostname, "restartPolicy", "Never", "securityContext",
		pod_security(env, is_nonroot(vmi, env)),
		"terminationGracePeriodSeconds",
		(json_int_t)grace_seconds(vmi) + 2 * GRACE_PAD_S,
		"nodeSelector",
		placement_selector(vmi, env->config, env->configuration),
		"containers", compute_of(vmi, env, volumes, resources),
		"volumes", volumes->volumes, "enableServiceLinks", false,
		"automountServiceAccountToken", false);

	copy_members(spec, js_obj_at(vmi, "spec"));
	if (*runtime != '\0')
		json_object_set_new(spec, "runtimeClassName",
				    json_string(runtime));
	if (json_array_size(volumes->pull_secrets) > 0)
		json_object_set(spec, "imagePullSecrets",
				volumes->pull_secrets);
	return spec;
}

static json_t *
metadata_of(const json_t *vmi, int64_t overhead)
{
	AUTO(free_ptr) char *hostname = host_name(vmi);
	AUTO(free_ptr)
	char *base = xasprintf(PREFIX_LAUNCHER "%s-", obj_name(vmi));

	return json_pack("{s:s, s:s, s:o, s:o, s:[o]}", "generateName", base,
			 "namespace", obj_ns(vmi), "labels",
			 labels_of(vmi, hostname), "annotations",
			 annotations_of(vmi, overhead), "ownerReferences",
			 obj_owner_ref(&api_vmis, obj_name(vmi), obj_uid(vmi)));
}

json_t *
pod_render(const json_t *vmi, const struct render_env *env,
	   const json_t *references, struct err *err)
{
	AUTO(volumes_done) struct volumes volumes = { .volumes = NULL };
	AUTO(js_unref) json_t *resources = NULL;
	int64_t overhead = 0;

	if (*obj_name(vmi) == '\0' || *obj_ns(vmi) == '\0' ||
	    *obj_uid(vmi) == '\0') {
		(void)err_set(err, ERR_INVALID,
			      "metadata: the instance has no name, namespace "
			      "or uid");
		return NULL;
	}
	resources = resources_render(vmi, env, &overhead, err);
	if (resources == NULL ||
	    volumes_render(vmi, env, references, &volumes, err) == -1)
		return NULL;
	return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "v1", "kind",
			 "Pod", "metadata", metadata_of(vmi, overhead), "spec",
			 spec_of(vmi, env, &volumes, resources));
}

json_t *
render_pod(const json_t *vmi, const struct render_env *env, struct err *err)
{
	AUTO(js_unref) json_t *pod = pod_render(vmi, env, NULL, err);

	if (pod == NULL ||
	    networks_annotate(vmi, false,
			      js_make_obj_at(pod, "metadata.annotations"),
			      err) == -1)
		return NULL;
	return TAKE_PTR(pod);
}
