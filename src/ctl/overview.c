/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/overview.h"

#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/migration.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/follow.h"
#include "kube/conditions.h"
#include "kube/obj.h"
#include "kube/resource.h"
#include "meta/time.h"

#define US_PER_S INT64_C(1000000)

enum stage {
	STAGE_RUNNING,
	STAGE_WAITING,
	STAGE_ENDED,
};

static const char *const stages[] = {
	[STAGE_RUNNING] = "running",
	[STAGE_WAITING] = "waiting",
	[STAGE_ENDED] = "ended",
};

struct row {
	const json_t *vmim;
	enum stage stage;
	int64_t created_us;
	int64_t ended_us; /* 0: not yet, or nobody says */
};

static enum migration_phase
phase_of(const json_t *vmim)
{
	enum migration_phase phase = MIGRATION_UNSET;
	struct err ignored;

	(void)migration_phase_parse(js_str_at(vmim, "status.phase"), &phase,
				    &ignored);
	return phase;
}

static enum stage
stage_of(const json_t *vmim)
{
	enum migration_phase phase = phase_of(vmim);

	if (migration_phase_is_final(phase))
		return STAGE_ENDED;
	return phase == MIGRATION_RUNNING ? STAGE_RUNNING : STAGE_WAITING;
}

static int64_t
us_of(const char *text)
{
	struct err ignored;
	int64_t us;

	return time_parse(text, &us, &ignored) == 0 ? us : 0;
}

/* When it came into the phase that it is in. */
static int64_t
phase_since_us(const json_t *vmim)
{
	const json_t *item =
		js_find(js_arr_at(vmim, "status.phaseTransitionTimestamps"),
			"phase", js_str_at(vmim, "status.phase"));

	return us_of(js_str_at(item, "phaseTransitionTimestamp"));
}

static int
compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int64_t left, right;

	if (x->stage != y->stage)
		return x->stage < y->stage ? -1 : 1;
	left = x->stage == STAGE_ENDED ? y->ended_us : x->created_us;
	right = x->stage == STAGE_ENDED ? x->ended_us : y->created_us;
	if (left != right)
		return left < right ? -1 : 1;
	return strcmp(obj_name(x->vmim), obj_name(y->vmim));
}

/* By "namespace/name"; a new reference. */
static json_t *
machines_by_key(const json_t *vmis)
{
	json_t *by_key = json_object();
	char key[KUBE_KEY_MAX];
	json_t *vmi;
	size_t i;

	json_array_foreach(vmis, i, vmi)
	{
		json_object_set(by_key,
				kube_key(obj_ns(vmi), obj_name(vmi), key), vmi);
	}
	return by_key;
}

static void
set_text(json_t *to, const char *name, const char *value)
{
	if (value[0] != '\0')
		json_object_set_new(to, name, json_string(value));
}

static void
add_times(json_t *to, const struct row *row)
{
	char text[TIME_TEXT_SIZE];

	set_text(to, "created",
		 js_str_at(row->vmim, "metadata.creationTimestamp"));
	if (row->ended_us == 0)
		return;
	set_text(to, "ended", time_text(row->ended_us, text));
	json_object_set_new(
		to, "seconds",
		json_integer((row->ended_us - row->created_us) / US_PER_S));
}

/* The machine of a migration; NULL. */
static const json_t *
machine_of(const json_t *machines, const json_t *vmim)
{
	char key[KUBE_KEY_MAX];

	return json_object_get(
		machines,
		kube_key(obj_ns(vmim), js_str_at(vmim, "spec.vmiName"), key));
}

static json_t *
migration_json(const json_t *machines, const struct row *row)
{
	const json_t *vmi = machine_of(machines, row->vmim);
	const json_t *state = follow_state(row->vmim, vmi);
	json_t *o = follow_json(row->vmim, state);
	const char *source = js_str_at(state, "sourceNode");

	/* Before the hand-off it is where the machine is. */
	if (source[0] == '\0' && row->stage != STAGE_ENDED)
		source = js_str_at(vmi, "status.nodeName");
	json_object_del(o, "migration");
	set_text(o, "namespace", obj_ns(row->vmim));
	set_text(o, "name", obj_name(row->vmim));
	set_text(o, "source", source);
	set_text(o, "target", js_str_at(state, "targetNode"));
	set_text(o, "mode", js_str_at(state, "mode"));
	set_text(o, "state", stages[row->stage]);
	add_times(o, row);
	return o;
}

/* All that are to be shown, in order; to be freed. */
static struct row *
choose_rows(const struct overview_facts *f, size_t *ret_count)
{
	struct row *rows =
		xcalloc(json_array_size(f->vmims) + 1, sizeof(*rows));
	const json_t *vmim;
	size_t i, count = 0;

	json_array_foreach(f->vmims, i, vmim)
	{
		struct row row = { .vmim = vmim,
				   .stage = stage_of(vmim),
				   .created_us = obj_created_us(vmim) };

		if (f->ns != NULL && !str_equal(obj_ns(vmim), f->ns))
			continue;
		if (row.stage == STAGE_ENDED)
			row.ended_us = phase_since_us(vmim);
		if (row.stage == STAGE_ENDED &&
		    f->now_us - row.ended_us > OVERVIEW_RECENT_S * US_PER_S)
			continue;
		rows[count++] = row;
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	*ret_count = count;
	return rows;
}

static json_t *
migrations_json(const struct overview_facts *f, const json_t *machines)
{
	json_t *list = json_array();
	size_t count, ended = 0;
	struct row *rows = choose_rows(f, &count);

	for (size_t i = 0; i < count; i++) {
		ended += rows[i].stage == STAGE_ENDED;
		if (ended <= OVERVIEW_ENDED_MAX)
			json_array_append_new(
				list, migration_json(machines, &rows[i]));
	}
	free(rows);
	return list;
}

/* What there is of a node is counted in members of an object. */
static void
count_one(json_t *loads, const char *node, const char *member)
{
	json_t *load = json_object_get(loads, node);

	if (load == NULL && node[0] != '\0') {
		load = json_object();
		json_object_set_new(loads, node, load);
	}
	json_object_set_new(load, member,
			    json_integer(js_int_at(load, member, 0) + 1));
}

/* By node, of all namespaces; a new reference. */
static json_t *
loads_of(const struct overview_facts *f, const json_t *machines)
{
	json_t *loads = json_object();
	const json_t *item, *state;
	size_t i;

	json_array_foreach(f->vmis, i, item)
	{
		count_one(loads, js_str_at(item, "status.nodeName"),
			  "machines");
		count_one(loads, js_str_at(item, "status.evacuationNodeName"),
			  "toLeave");
	}
	json_array_foreach(f->vmims, i, item)
	{
		if (stage_of(item) == STAGE_ENDED)
			continue;
		state = follow_state(item, machine_of(machines, item));
		count_one(loads, js_str_at(state, "sourceNode"), "outgoing");
		count_one(loads, js_str_at(state, "targetNode"), "incoming");
	}
	return loads;
}

static bool
has_drain_taint(const json_t *node)
{
	return js_find(js_arr_at(node, "spec.taints"), "key",
		       CONFIG_DRAIN_TAINT) != NULL;
}

static const char *
drain_of(const json_t *node, const json_t *load)
{
	bool cordoned = js_bool_at(node, "spec.unschedulable", false);

	if (js_int_at(load, "toLeave", 0) > 0)
		return "draining";
	if (!cordoned && !has_drain_taint(node))
		return "";
	return js_int_at(load, "machines", 0) == 0 ? "drained" : "cordoned";
}

static const char *
node_state(const json_t *node)
{
	const json_t *conditions = js_arr_at(node, "status.conditions");
	const char *machines = obj_label(node, LABEL_SCHEDULABLE);

	if (!condition_is_true(conditions, COND_READY))
		return "NotReady";
	return str_equal(machines, "true") ? "Ready" : "NoMachines";
}

static int
compare_names(const void *a, const void *b)
{
	json_t *const *x = a, *const *y = b;

	return strcmp(obj_name(*x), obj_name(*y));
}

static json_t *
nodes_json(const struct overview_facts *f, const json_t *machines)
{
	static const char *const members[] = { "machines", "incoming",
					       "outgoing", "toLeave" };
	AUTO(js_unref) json_t *loads = loads_of(f, machines);
	size_t count = json_array_size(f->nodes);
	json_t **sorted = xcalloc(count + 1, sizeof(json_t *));
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		sorted[i] = json_array_get(f->nodes, i);
	qsort(sorted, count, sizeof(json_t *), compare_names);
	for (size_t i = 0; i < count; i++) {
		const char *name = obj_name(sorted[i]);
		const json_t *load = json_object_get(loads, name);
		json_t *o = json_pack("{s:s, s:s, s:s}", "name", name, "state",
				      node_state(sorted[i]), "drain",
				      drain_of(sorted[i], load));

		for (size_t m = 0; m < ARRAY_LEN(members); m++)
			json_object_set_new(
				o, members[m],
				json_integer(js_int_at(load, members[m], 0)));
		json_array_append_new(list, o);
	}
	free(sorted);
	return list;
}

json_t *
overview_json(const struct overview_facts *f)
{
	AUTO(js_unref) json_t *machines = machines_by_key(f->vmis);
	char time[TIME_TEXT_SIZE];
	json_t *o =
		json_pack("{s:s, s:o, s:o}", "time", time_text(f->now_us, time),
			  "migrations", migrations_json(f, machines), "nodes",
			  nodes_json(f, machines));

	if (f->ns != NULL)
		set_text(o, "namespace", f->ns);
	if (json_array_size(f->unseen) > 0)
		json_object_set_new(o, "unseen", json_deep_copy(f->unseen));
	set_text(o, "trouble", f->trouble);
	return o;
}
