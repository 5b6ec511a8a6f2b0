/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent of a node may change on a machine. */
#include "api/check.h"

#include <string.h>

#include "api/check_internal.h"
#include "api/migration.h"
#include "api/names.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/jsat.h"
#include "base/str.h"

enum side {
	SIDE_SOURCE = 1 << 0, /* the node that it runs on */
	SIDE_TARGET = 1 << 1, /* the node that receives it */
	/* The same, in the write by which the machine is its own, or later. */
	SIDE_ARRIVAL = 1 << 2,
	/* The node that would have received it, had it not failed: all that is
	 * left to it is to tidy up. */
	SIDE_TIDY = 1 << 3,
};

struct rule {
	const char *name;
	unsigned sides; /* that may change it */
};

/* Members of status.migrationState; those not listed are the controller's. */
static const struct rule state_rules[] = {
	{ "targetNodeAddress", SIDE_TARGET },
	{ "targetDirectMigrationNodePorts", SIDE_TARGET },
	{ "targetCPUSet", SIDE_TARGET },
	{ "targetNodeTopology", SIDE_TARGET },
	{ "targetNodeDomainDetected", SIDE_TARGET },
	{ "targetNodeDomainReadyTimestamp", SIDE_TARGET },
	{ "targetWaitsFor", SIDE_TARGET },
	{ "targetListensAfterBreaks", SIDE_TARGET },
	{ "sourceWaitsFor", SIDE_SOURCE },
	{ "startTimestamp", SIDE_SOURCE },
	{ "mode", SIDE_SOURCE },
	{ "abortStatus", SIDE_SOURCE },
	{ "prediction", SIDE_SOURCE },
	{ "failureReason", SIDE_SOURCE | SIDE_TARGET },
	{ "failureCode", SIDE_SOURCE | SIDE_TARGET },
	{ "progress", SIDE_SOURCE | SIDE_TARGET },
	{ "endTimestamp", SIDE_SOURCE | SIDE_TARGET },
	{ "completed", SIDE_SOURCE | SIDE_TARGET },
	{ "failed", SIDE_SOURCE | SIDE_TARGET },
};

/*
 * Members of status; those not listed are of the node that the machine runs
 * on. nodeName, evacuationNodeName and activePods are looked at more closely.
 */
static const struct rule status_rules[] = {
	{ "activePods", SIDE_TARGET },
	{ "qosClass", 0 },
	{ "runtimeUser", 0 },
	{ "topologyHints", 0 },
	{ "virtualMachineRevisionName", 0 },
	{ "nodeName", SIDE_TARGET },
	{ "evacuationNodeName", SIDE_TARGET },
	{ "migrationState", SIDE_SOURCE | SIDE_TARGET },
	{ "conditions", SIDE_SOURCE | SIDE_ARRIVAL },
	{ "interfaces", SIDE_SOURCE | SIDE_ARRIVAL },
	{ "volumeStatus", SIDE_SOURCE | SIDE_ARRIVAL },
	{ "launcherContainerImageVersion", SIDE_TARGET },
	{ "migrationTransport", SIDE_SOURCE | SIDE_ARRIVAL },
	{ "migratedVolumes", SIDE_SOURCE | SIDE_ARRIVAL },
	{ "memory", SIDE_SOURCE | SIDE_ARRIVAL },
	{ "currentCPUTopology", SIDE_SOURCE | SIDE_ARRIVAL },
};

/* Labels and annotations; no others may change. */
static const struct rule label_rules[] = {
	{ LABEL_NODE, SIDE_TARGET },
	{ LABEL_MIGRATION_TARGET_NODE, SIDE_TARGET | SIDE_TIDY },
	{ LABEL_OUTDATED_IMAGE, SIDE_TARGET },
};

static const struct rule annotation_rules[] = {
	{ ANNOTATION_EVICTION_SOURCE, SIDE_TARGET },
	{ ANNOTATION_PAUSE_ANSWERED, SIDE_SOURCE },
	{ ANNOTATION_PAUSE_FAILURE, SIDE_SOURCE },
	{ ANNOTATION_LAUNCHER_VERSIONS, SIDE_SOURCE },
};

struct rules {
	const char *path; /* of the object whose members they are for */
	const struct rule *list;
	size_t count;
	unsigned otherwise; /* sides, for what is not listed */
	bool exact;         /* one that is empty is there */
};

static const struct rules all_rules[] = {
	{ "status.migrationState", state_rules, ARRAY_LEN(state_rules), 0,
	  false },
	{ "status", status_rules, ARRAY_LEN(status_rules), SIDE_SOURCE, false },
	{ "metadata.labels", label_rules, ARRAY_LEN(label_rules), 0, true },
	{ "metadata.annotations", annotation_rules, ARRAY_LEN(annotation_rules),
	  0, true },
};

static unsigned
sides_of(const struct rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (strcmp(rules->list[i].name, name) == 0)
			return rules->list[i].sides;
	}
	return rules->otherwise;
}

static int
check_members_of(const json_t *a, const json_t *b, const struct rules *rules,
		 unsigned side, struct status *st)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)a, name, value)
	{
		const json_t *other = json_object_get(b, name);

		if ((rules->exact ? json_equal(value, other)
				  : check_same(value, other)) ||
		    (sides_of(rules, name) & side) != 0)
			continue;
		return check_deny(st, CHECK_INVALID, rules->path,
				  "Node restriction, virt-handler is not "
				  "allowed to change %s.%s",
				  rules->path, name);
	}
	return 0;
}

static int
check_members(const json_t *before, const json_t *now,
	      const struct rules *rules, unsigned side, struct status *st)
{
	if (check_members_of(before, now, rules, side, st) == -1)
		return -1;
	return check_members_of(now, before, rules, side, st);
}

/* A label or annotation; "" for none. */
static const char *
tag_of(const json_t *object, const char *path, const char *name)
{
	const char *tag = json_string_value(
		json_object_get(js_obj_at(object, path), name));

	return tag == NULL ? "" : tag;
}

static const char *
node_label(const json_t *object)
{
	return tag_of(object, "metadata.labels", LABEL_NODE);
}

static bool
same_at(const json_t *before, const json_t *now, const char *path)
{
	return check_same(js_at(before, path), js_at(now, path));
}

/* With the machine itself a node takes it out of the pods of others. */
static bool
pods_may_change(const json_t *before, const json_t *now, const char *node)
{
	const json_t *old = js_obj_at(before, "status.activePods");
	const char *uid;
	json_t *place;

	if (strcmp(js_str_at(now, "status.nodeName"), node) != 0)
		return false;
	json_object_foreach(js_obj_at(now, "status.activePods"), uid, place)
	{
		if (!str_equal(json_string_value(place), node) &&
		    !check_same(place, json_object_get(old, uid)))
			return false;
	}
	return true;
}

/* Of what others have put there a node only takes away; with one exception:
 * which image the machine runs with is known where it has arrived. */
static int
check_taken_away(const json_t *before, const json_t *now, const char *node,
		 struct status *st)
{
	static const struct {
		const char *path, *name;
	} tags[] = {
		{ "metadata.labels", LABEL_MIGRATION_TARGET_NODE },
		{ "metadata.labels", LABEL_OUTDATED_IMAGE },
		{ "metadata.annotations", ANNOTATION_EVICTION_SOURCE },
	};
	static const char image[] = "status.launcherContainerImageVersion";

	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		const json_t *old = js_obj_at(before, tags[i].path);
		const json_t *new = js_obj_at(now, tags[i].path);
		const json_t *tag = json_object_get(new, tags[i].name);

		if (tag == NULL ||
		    json_equal(tag, json_object_get(old, tags[i].name)))
			continue;
		return check_deny(st, CHECK_INVALID, tags[i].path,
				  "Node restriction, virt-handler is only "
				  "allowed to remove %s",
				  tags[i].name);
	}
	if (!same_at(before, now, image) && js_str_at(now, image)[0] != '\0' &&
	    strcmp(js_str_at(now, "status.nodeName"), node) != 0)
		return check_deny(st, CHECK_INVALID, image,
				  "Node restriction, virt-handler is only "
				  "allowed to set the image of VMIs that it "
				  "has received");
	return 0;
}

/* A machine arrives at this node and nowhere else, and marks only go. */
static int
check_values(const json_t *before, const json_t *now, const char *node,
	     struct status *st)
{
	const char *to = js_str_at(now, "status.nodeName");
	const char *mark = js_str_at(now, "status.evacuationNodeName");

	if (strcmp(to, js_str_at(before, "status.nodeName")) != 0 &&
	    strcmp(to, node) != 0)
		return check_deny(st, CHECK_INVALID, "status.nodeName",
				  "Node restriction, virt-handler is only "
				  "allowed to move VMIs to its own node");
	if (strcmp(node_label(now), node_label(before)) != 0 &&
	    strcmp(node_label(now), node) != 0)
		return check_deny(st, CHECK_INVALID, "metadata.labels",
				  "Node restriction, virt-handler is only "
				  "allowed to move VMIs to its own node");
	if (mark[0] != '\0' &&
	    strcmp(mark, js_str_at(before, "status.evacuationNodeName")) != 0)
		return check_deny(st, CHECK_INVALID,
				  "status.evacuationNodeName",
				  "Node restriction, virt-handler is not "
				  "allowed to evacuate VMIs");
	if (!same_at(before, now, "status.activePods") &&
	    !pods_may_change(before, now, node))
		return check_deny(st, CHECK_INVALID, "status.activePods",
				  "Node restriction, virt-handler is only "
				  "allowed to list its own pods of VMIs that "
				  "it has received");
	return check_taken_away(before, now, node, st);
}

#define MEMBER_PORTS "status.migrationState.targetDirectMigrationNodePorts"

/* What others could not make sense of. */
static int
check_sense(const json_t *before, const json_t *now, struct status *st)
{
	if (!same_at(before, now, MEMBER_PORTS) &&
	    !migration_ports_are_good(js_at(now, MEMBER_PORTS)))
		return check_deny(st, CHECK_INVALID, MEMBER_PORTS,
				  "Node restriction, up to %d ports from 1 to "
				  "65535 with their channels are expected",
				  MIGRATION_PORTS_MAX);
	if (!same_at(before, now, "status.migratedVolumes") &&
	    json_array_size(js_at(now, "status.migratedVolumes")) >
		    VMI_VOLUMES_MAX)
		return check_deny(st, CHECK_INVALID, "status.migratedVolumes",
				  "Node restriction, up to %d volumes are "
				  "expected",
				  VMI_VOLUMES_MAX);
	return 0;
}

/* What no agent changes. */
static int
check_fixed(const json_t *before, const json_t *now, struct status *st)
{
	if (js_bool_at(before, "status.migrationState.failed", false) &&
	    !js_bool_at(now, "status.migrationState.failed", false))
		return check_deny(st, CHECK_INVALID, "status.migrationState",
				  "Node restriction, virt-handler is not "
				  "allowed to take back a failure");
	if (!same_at(before, now, "status.migrationState.targetNode"))
		return check_deny(st, CHECK_INVALID, NULL,
				  "Node restriction, virt-handler is not "
				  "allowed to set target node");
	if (!same_at(before, now, "spec"))
		return check_deny(st, CHECK_NOT_SUPPORTED, NULL,
				  "update of VMI object is restricted");
	if (!same_at(before, now, "metadata.ownerReferences") ||
	    !same_at(before, now, "metadata.finalizers"))
		return check_deny(st, CHECK_INVALID, "metadata",
				  "Node restriction, virt-handler is not "
				  "allowed to change owners or finalizers");
	return 0;
}

/*
 * What it is to the machine as that is before the write. The label is the
 * controller's word that the node is to receive it, and the failure that this
 * is over; the migration's state stays when it has ended, and says nothing
 * about what the node may do later.
 */
static unsigned
side_of(const json_t *before, const json_t *now, const char *node)
{
	const json_t *state = js_obj_at(before, "status.migrationState");
	unsigned side = 0;

	if (strcmp(js_str_at(before, "status.nodeName"), node) == 0)
		side |= SIDE_SOURCE;
	if (strcmp(js_str_at(state, "targetNode"), node) != 0 ||
	    strcmp(tag_of(before, "metadata.labels",
			  LABEL_MIGRATION_TARGET_NODE),
		   node) != 0)
		return side;
	if (js_bool_at(state, "failed", false))
		return side | SIDE_TIDY;
	side |= SIDE_TARGET;
	if (strcmp(js_str_at(now, "status.nodeName"), node) == 0)
		side |= SIDE_ARRIVAL;
	return side;
}

int
vmi_check_node_update(const json_t *old_object, const json_t *new_object,
		      const char *node, struct status *st)
{
	unsigned side;

	if (node == NULL || node[0] == '\0')
		return check_deny(st, CHECK_INVALID, NULL,
				  "Node restriction failed, virt-handler "
				  "service account is missing node name");
	side = side_of(old_object, new_object, node);
	if (side == 0)
		return check_deny(st, CHECK_INVALID, NULL,
				  "Node restriction, virt-handler is only "
				  "allowed to modify VMIs it owns");
	if (check_fixed(old_object, new_object, st) == -1 ||
	    check_sense(old_object, new_object, st) == -1)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(all_rules); i++) {
		const struct rules *rules = &all_rules[i];

		if (check_members(js_obj_at(old_object, rules->path),
				  js_obj_at(new_object, rules->path), rules,
				  side, st) == -1)
			return -1;
	}
	return check_values(old_object, new_object, node, st);
}
