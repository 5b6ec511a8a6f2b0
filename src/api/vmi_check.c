/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of VirtualMachineInstances and VirtualMachines. */
#include "api/check.h"

#include <string.h>

#include "api/check_internal.h"
#include "api/config.h"
#include "api/domain.h"
#include "api/names.h"
#include "api/vm.h"
#include "api/vmi.h"
#include "api/vmi_volumes.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/obj.h"

/* Labels by which the parts find each other's objects: not for people. */
static const char *const reserved_labels[] = {
	LABEL_CREATED_BY,  LABEL_MIGRATION_UID,
	LABEL_NODE,        LABEL_MIGRATION_TARGET_NODE,
	LABEL_SCHEDULABLE, "kubevirt.io/install-strategy",
};

static void
check_memory(const json_t *spec, const char *prefix, struct status *st)
{
	if (js_at(spec, "domain.memory.guest") != NULL ||
	    js_at(spec, "domain.resources.requests.memory") != NULL ||
	    js_at(spec, "domain.resources.limits.memory") != NULL)
		return;
	(void)check_deny(st, CHECK_REQUIRED, NULL,
			 "no memory requested, at least one of "
			 "'%s.domain.memory.guest', "
			 "'%s.domain.memory.hugepages.size' or "
			 "'%s.domain.resources.requests.memory' must be set",
			 prefix, prefix, prefix);
}

/* A list of things with names, short enough to compare each with each. */
static int
check_names(const json_t *list, const char *prefix, const char *path,
	    struct status *st)
{
	AUTO(free_ptr) char *field = xasprintf("%s.%s", prefix, path);

	if (json_array_size(list) > VMI_VOLUMES_MAX)
		return check_deny(st, CHECK_INVALID, field,
				  "%s list exceeds the %d element limit in "
				  "length",
				  field, VMI_VOLUMES_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = js_str_at(json_array_get(list, i), "name");

		for (size_t k = 0; k < i; k++) {
			AUTO(free_ptr) char *at = NULL;

			if (strcmp(name, js_str_at(json_array_get(list, k),
						   "name")) != 0)
				continue;
			at = xasprintf("%s[%zu].name", field, i);
			(void)check_deny(st, CHECK_INVALID, at,
					 "%s[%zu] and %s[%zu] must not have "
					 "the same Name.",
					 field, i, field, k);
			break;
		}
	}
	return st->code == 0 ? 0 : -1;
}

/* Each of from has one of the same name in to. */
static void
check_pairs(const json_t *from, const json_t *to, const char *prefix,
	    const char *path, struct status *st)
{
	size_t i;
	json_t *item;

	json_array_foreach(from, i, item)
	{
		const char *name = js_str_at(item, "name");
		AUTO(free_ptr) char *field = NULL;

		if (js_find(to, "name", name) != NULL)
			continue;
		field = xasprintf("%s.%s[%zu].name", prefix, path, i);
		(void)check_deny(st, CHECK_INVALID, field, "%s '%s' not found.",
				 field, name);
	}
}

static void
check_sources(const json_t *volumes, const char *prefix, struct status *st)
{
	size_t i, count;
	json_t *volume;

	json_array_foreach(volumes, i, volume)
	{
		AUTO(free_ptr)
		char *field = xasprintf("%s.volumes[%zu]", prefix, i);

		if (vmi_volume_source(volume, &count) == NULL)
			(void)check_deny(
				st, CHECK_INVALID, field,
				"%s must have exactly one source type set",
				field);
	}
}

static void
check_networks(const json_t *networks, const char *prefix, struct status *st)
{
	size_t i, pods = 0;
	json_t *network;

	json_array_foreach(networks, i, network)
	{
		AUTO(free_ptr)
		char *field = xasprintf("%s.networks[%zu]", prefix, i);
		bool pod = js_at(network, "pod") != NULL;
		bool multus = js_at(network, "multus") != NULL;

		if (!pod && !multus)
			(void)check_deny(st, CHECK_REQUIRED, field,
					 "should have a network type");
		else if (pod && multus)
			(void)check_deny(st, CHECK_REQUIRED, field,
					 "should have only one network type");
		else if (pod && pods++ > 0)
			(void)check_deny(st, CHECK_INVALID, field,
					 "more than one interface is connected "
					 "to a pod network in %s",
					 field);
	}
}

static void
check_eviction(const json_t *spec, const char *prefix, struct status *st)
{
	AUTO(free_ptr) char *field = xasprintf("%s.evictionStrategy", prefix);
	const char *text = js_str_at(spec, "evictionStrategy");

	if (text[0] != '\0' && eviction_strategy_parse(text) == EVICTION_UNSET)
		(void)check_deny(st, CHECK_INVALID, field,
				 "%s is set with an unrecognized option: %s",
				 field, text);
}

int
vmi_check_spec(const json_t *spec, const char *prefix, struct status *st)
{
	static const char disks_path[] = "domain.devices.disks";
	static const char interfaces_path[] = "domain.devices.interfaces";
	const json_t *disks = js_arr_at(spec, disks_path);
	const json_t *interfaces = js_arr_at(spec, interfaces_path);
	const json_t *volumes = js_arr_at(spec, "volumes");
	const json_t *networks = js_arr_at(spec, "networks");

	if (domain_check_subset(spec, prefix, st) == -1 ||
	    check_names(volumes, prefix, "volumes", st) == -1 ||
	    check_names(disks, prefix, disks_path, st) == -1 ||
	    check_names(networks, prefix, "networks", st) == -1 ||
	    check_names(interfaces, prefix, interfaces_path, st) == -1)
		return -1;
	check_memory(spec, prefix, st);
	check_sources(volumes, prefix, st);
	check_pairs(disks, volumes, prefix, disks_path, st);
	check_pairs(volumes, disks, prefix, "volumes", st);
	check_networks(networks, prefix, st);
	check_pairs(interfaces, networks, prefix, interfaces_path, st);
	check_pairs(networks, interfaces, prefix, "networks", st);
	check_eviction(spec, prefix, st);
	return st->code == 0 ? 0 : -1;
}

/* Whether one of the labels differs; old_object may be NULL. */
static bool
touches_reserved(const json_t *old_object, const json_t *new_object)
{
	for (size_t i = 0; i < ARRAY_LEN(reserved_labels); i++) {
		if (!str_equal(obj_label(old_object, reserved_labels[i]),
			       obj_label(new_object, reserved_labels[i])))
			return true;
	}
	return false;
}

int
vmi_check_create(const json_t *object, const struct check_user *user,
		 struct status *st)
{
	if (vmi_check_spec(js_obj_at(object, "spec"), "spec", st) == -1)
		return -1;
	if (!user->internal && touches_reserved(NULL, object))
		return check_deny(st, CHECK_NOT_SUPPORTED, "metadata.labels",
				  "creation of the following reserved "
				  "kubevirt.io/ labels on a VMI object is "
				  "prohibited");
	return 0;
}

static bool
object_is_migrating(const json_t *object, int64_t now_us)
{
	const json_t *obj = js_obj_at(object, "status.migrationState");
	struct migration_state *state;
	bool active;

	if (obj == NULL)
		return false;
	state = migration_state_decode(obj);
	active = migration_state_is_active(state, now_us);
	migration_state_free(state);
	return active;
}

static int
deny_volume_request(struct status *st)
{
	return check_deny(st, CHECK_NOT_SUPPORTED, "spec",
			  "Cannot handle volume requests while VMI migration "
			  "is in progress");
}

int
vmi_check_update(const json_t *old_object, const json_t *new_object,
		 const struct check_user *user, int64_t now_us,
		 struct status *st)
{
	const json_t *before = js_obj_at(old_object, "spec");
	const json_t *now = js_obj_at(new_object, "spec");

	if (!user->internal && !check_same_members(before, now))
		return check_deny(st, CHECK_NOT_SUPPORTED, NULL,
				  "update of VMI object is restricted");
	if (!check_same(js_at(before, "volumes"), js_at(now, "volumes")) &&
	    object_is_migrating(old_object, now_us))
		return deny_volume_request(st);
	if (!user->internal && touches_reserved(old_object, new_object))
		return check_deny(st, CHECK_NOT_SUPPORTED, NULL,
				  "modification of the following reserved "
				  "kubevirt.io/ labels on a VMI object is "
				  "prohibited");
	return 0;
}

static void
check_strategy(const json_t *spec, const struct kubevirt_config *config,
	       struct status *st)
{
	bool running = js_at(spec, "running") != NULL;
	const char *text = js_str_at(spec, "runStrategy");
	enum run_strategy strategy = run_strategy_parse(text);

	if (running && text[0] != '\0')
		(void)check_deny(st, CHECK_INVALID, "spec.running",
				 "Running and RunStrategy are mutually "
				 "exclusive. Note that Running is deprecated, "
				 "please use RunStrategy instead");
	if (!running && text[0] == '\0')
		(void)check_deny(st, CHECK_INVALID, "spec.running",
				 "One of Running or RunStrategy must be "
				 "specified");
	if (text[0] != '\0' &&
	    (strategy == RUN_UNSET ||
	     (strategy == RUN_WAIT_AS_RECEIVER &&
	      !kubevirt_config_gate(config, GATE_DECENTRALIZED)))) {
		(void)check_deny(st, CHECK_INVALID, "spec.runStrategy",
				 "Invalid RunStrategy (%s)", text);
	} else if (strategy == RUN_WAIT_AS_RECEIVER) {
		/* It would wait for ever: nobody sends. */
		(void)check_deny(st, CHECK_NOT_SUPPORTED, "spec.runStrategy",
				 "RunStrategy %s is not supported: there is "
				 "nothing that moves machines between "
				 "namespaces or clusters",
				 text);
	}
}

/* What would need parts that Ferry does not have. */
static void
check_vm_members(const json_t *spec, struct status *st)
{
	static const char *const names[] = { "dataVolumeTemplates",
					     "instancetype", "preference" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO(free_ptr) char *field = xasprintf("spec.%s", names[i]);

		if (!check_same(js_at(spec, names[i]), NULL))
			(void)check_deny(st, CHECK_NOT_SUPPORTED, field,
					 "%s is not supported", field);
	}
}

int
vm_check(const struct vm_facts *facts, struct status *st)
{
	const json_t *spec = js_obj_at(facts->new_object, "spec");
	const json_t *before = js_obj_at(facts->old_object, "status");
	const json_t *now = js_obj_at(facts->new_object, "status");

	/* One that is being deleted must be able to lose its finalizers. */
	if (obj_is_deleting(facts->new_object))
		return 0;
	if (js_obj_at(spec, "template") == NULL)
		return check_deny(st, CHECK_REQUIRED, "spec.template",
				  "missing virtual machine template.");
	check_vm_members(spec, st);
	check_strategy(spec, facts->config, st);
	if (st->code != 0)
		return -1;
	if (vmi_check_spec(js_obj_at(spec, "template.spec"),
			   "spec.template.spec", st) == -1)
		return -1;
	if (facts->vmi != NULL &&
	    !check_same(js_at(now, "volumeRequests"), NULL) &&
	    !check_same(js_at(now, "volumeRequests"),
			js_at(before, "volumeRequests")) &&
	    vmi_is_migrating(facts->vmi, facts->now_us))
		return deny_volume_request(st);
	return 0;
}
