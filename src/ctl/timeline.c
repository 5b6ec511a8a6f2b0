/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/timeline.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/conditions.h"
#include "kube/obj.h"
#include "meta/time.h"

struct entry {
	int64_t us;
	size_t nr;
	const char *who; /* static */
	char *what;
};

struct timeline {
	struct entry *entries;
	size_t count;
};

struct timeline *
timeline_new(void)
{
	return xmalloc0(sizeof(struct timeline));
}

void
timeline_free(struct timeline *timeline)
{
	if (timeline == NULL)
		return;
	for (size_t i = 0; i < timeline->count; i++)
		free(timeline->entries[i].what);
	free(timeline->entries);
	free(timeline);
}

void
timeline_unref(struct timeline **pointer)
{
	timeline_free(*pointer);
	*pointer = NULL;
}

void
timeline_add(struct timeline *timeline, const char *time, const char *who,
	     const char *fmt, ...)
{
	struct entry *entry;
	struct err ignored;
	int64_t us;
	va_list ap;

	if (time_parse(time, &us, &ignored) == -1)
		return;
	timeline->entries =
		xrealloc(timeline->entries,
			 (timeline->count + 1) * sizeof(*timeline->entries));
	entry = &timeline->entries[timeline->count];
	entry->us = us;
	entry->nr = timeline->count++;
	entry->who = who;
	va_start(ap, fmt);
	entry->what = xvasprintf(fmt, ap);
	va_end(ap);
}

static void
add_phase(struct timeline *timeline, const json_t *item, const char *who)
{
	timeline_add(timeline, js_str_at(item, "phaseTransitionTimestamp"), who,
		     "%s", js_str_at(item, "phase"));
}

void
timeline_add_machine(struct timeline *timeline, const json_t *vmi)
{
	const json_t *conditions = js_arr_at(vmi, "status.conditions");
	const json_t *paused, *item;
	size_t i;

	timeline_add(timeline, js_str_at(vmi, "metadata.creationTimestamp"),
		     "machine", "created");
	json_array_foreach(js_arr_at(vmi, "status.phaseTransitionTimestamps"),
			   i, item)
	{
		add_phase(timeline, item, "machine");
	}
	if (condition_is_true(conditions, COND_PAUSED)) {
		paused = condition_get(conditions, COND_PAUSED);
		timeline_add(timeline, js_str_at(paused, "lastTransitionTime"),
			     "machine", "paused: %s",
			     js_str_at(paused, "message"));
	}
	timeline_add(timeline, js_str_at(vmi, "metadata.deletionTimestamp"),
		     "machine", "is to be deleted");
}

/* Who asked for it. */
static const char *
asked_by(const json_t *vmim)
{
	if (obj_annotation(vmim, ANNOTATION_EVACUATION) != NULL)
		return "asked for: its node is to be left (drain, eviction)";
	if (obj_annotation(vmim, ANNOTATION_WORKLOAD_UPDATE) != NULL)
		return "asked for: its launcher is outdated";
	return "asked for";
}

static void
add_telling(struct timeline *timeline, const json_t *vmim, const char *type,
	    const char *word)
{
	const json_t *list = js_arr_at(vmim, "status.conditions");
	const json_t *cond = condition_get(list, type);

	if (condition_is_true(list, type))
		timeline_add(timeline, js_str_at(cond, "lastTransitionTime"),
			     "migration", "%s: %s", word,
			     js_str_at(cond, "reason"));
}

/* What the nodes say of it, in order, and which phases follow from that. */
static const struct {
	const char *member, *what;
	bool before_running; /* or before the end */
} said_by_nodes[] = {
	{ "startTimestamp", "the source node begins the transfer", true },
	{ "targetNodeDomainReadyTimestamp", "the guest runs on the target node",
	  false },
	{ "endTimestamp", "the nodes say that it is over", false },
};

static bool
comes_before(size_t nr, const char *phase)
{
	return str_equal(phase, "Succeeded") || str_equal(phase, "Failed") ||
	       (str_equal(phase, "Running") &&
		said_by_nodes[nr].before_running);
}

/* All may be within one second: each moment before what came of it. */
static void
add_course(struct timeline *timeline, const json_t *vmim)
{
	const json_t *phases =
		js_arr_at(vmim, "status.phaseTransitionTimestamps");
	const json_t *state = js_obj_at(vmim, "status.migrationState");
	size_t said = 0;

	/* One round more: what came of the last is still to be seen. */
	for (size_t i = 0; i <= json_array_size(phases); i++) {
		const json_t *item = json_array_get(phases, i);
		const char *phase = js_str_at(item, "phase");

		for (; said < ARRAY_LEN(said_by_nodes) &&
		       (item == NULL || comes_before(said, phase));
		     said++)
			timeline_add(
				timeline,
				js_str_at(state, said_by_nodes[said].member),
				"migration", "%s", said_by_nodes[said].what);
		add_phase(timeline, item, "migration");
	}
}

void
timeline_add_migration(struct timeline *timeline, const json_t *vmim)
{
	timeline_add(timeline, js_str_at(vmim, "metadata.creationTimestamp"),
		     "migration", "%s", asked_by(vmim));
	add_course(timeline, vmim);
	timeline_add(timeline, js_str_at(vmim, "metadata.deletionTimestamp"),
		     "migration", "canceled: somebody deleted it");
	add_telling(timeline, vmim, COND_WAITING, "waits");
	add_telling(timeline, vmim, COND_FAILURE, "failed");
}

void
timeline_add_earlier(struct timeline *timeline, const json_t *vmim)
{
	const json_t *conditions = js_arr_at(vmim, "status.conditions");
	const char *phase = js_str_at(vmim, "status.phase");
	const char *reason =
		js_str_at(condition_get(conditions, COND_FAILURE), "reason");
	const json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(vmim, "status.phaseTransitionTimestamps"),
			   i, item)
	{
		if (!str_equal(js_str_at(item, "phase"), phase))
			continue;
		timeline_add(timeline,
			     js_str_at(item, "phaseTransitionTimestamp"),
			     "earlier", "migration %s: %s%s%s", obj_name(vmim),
			     phase, reason[0] == '\0' ? "" : ", ", reason);
	}
}

void
timeline_add_pod(struct timeline *timeline, const json_t *pod)
{
	const json_t *conditions = js_arr_at(pod, "status.conditions");
	const char *node = js_str_at(pod, "spec.nodeName");
	const char *name = obj_name(pod);
	static const struct {
		const char *type, *what;
	} moments[] = {
		{ COND_POD_SCHEDULED, "has a node" },
		{ COND_READY, "is ready" },
	};

	timeline_add(timeline, js_str_at(pod, "metadata.creationTimestamp"),
		     "pod", "%s: created", name);
	for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
		const json_t *cond = condition_get(conditions, moments[i].type);

		if (condition_is_true(conditions, moments[i].type)) {
			timeline_add(timeline,
				     js_str_at(cond, "lastTransitionTime"),
				     "pod", "%s: %s (%s)", name,
				     moments[i].what, node);
		} else if (js_str_at(cond, "message")[0] != '\0') {
			timeline_add(timeline,
				     js_str_at(cond, "lastTransitionTime"),
				     "pod", "%s: %s", name,
				     js_str_at(cond, "message"));
		}
	}
	timeline_add(timeline, js_str_at(pod, "metadata.deletionTimestamp"),
		     "pod", "%s: is to be deleted", name);
}

const char *
timeline_event_time(const json_t *event)
{
	static const char *const places[] = {
		"lastTimestamp",
		"series.lastObservedTime",
		"eventTime",
		"metadata.creationTimestamp",
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const char *when = js_str_at(event, places[i]);

		if (when[0] != '\0')
			return when;
	}
	return "";
}

void
timeline_add_event(struct timeline *timeline, const json_t *event)
{
	const char *when = timeline_event_time(event);
	int64_t count =
		js_int_at(event, "count", js_int_at(event, "series.count", 1));

	if (count > 1)
		timeline_add(timeline, when, "event", "%s: %s (%lld times)",
			     js_str_at(event, "reason"),
			     js_str_at(event, "message"), (long long)count);
	else
		timeline_add(timeline, when, "event", "%s: %s",
			     js_str_at(event, "reason"),
			     js_str_at(event, "message"));
}

static int
by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int64_t xs = x->us / TIME_US_PER_SECOND;
	int64_t ys = y->us / TIME_US_PER_SECOND;

	if (xs != ys)
		return xs < ys ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

json_t *
timeline_json(struct timeline *timeline, size_t *ret_left)
{
	size_t first = timeline->count > TIMELINE_SHOWN
			       ? timeline->count - TIMELINE_SHOWN
			       : 0;
	json_t *list = json_array();
	char text[TIME_TEXT_SIZE];

	if (timeline->count > 0)
		qsort(timeline->entries, timeline->count,
		      sizeof(*timeline->entries), by_time);
	for (size_t i = first; i < timeline->count; i++) {
		const struct entry *e = &timeline->entries[i];

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s}", "time",
						time_text(e->us, text), "who",
						e->who, "what", e->what));
	}
	*ret_left = first;
	return list;
}
