/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/page.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/migration.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/remedies.h"
#include "ctl/timeline.h"
#include "kube/conditions.h"
#include "kube/obj.h"

static bool
has_ended(const json_t *vmim)
{
	enum migration_phase phase;
	struct err ignored;

	return migration_phase_parse(js_str_at(vmim, "status.phase"), &phase,
				     &ignored) == 0 &&
	       migration_phase_is_final(phase);
}

const json_t *
page_choose(const json_t *vmims)
{
	const json_t *item, *best = NULL;
	size_t i;

	json_array_foreach(vmims, i, item)
	{
		if (best == NULL || (has_ended(best) && !has_ended(item)) ||
		    (has_ended(best) == has_ended(item) &&
		     obj_created_us(item) >= obj_created_us(best)))
			best = item;
	}
	return best;
}

/* What the nodes say of this migration: the machine's copy is newer. */
static const json_t *
state_of(const struct page_facts *f)
{
	const json_t *state = js_obj_at(f->vmi, "status.migrationState");

	if (f->vmim == NULL)
		return NULL;
	if (str_equal(js_str_at(state, "migrationUid"), obj_uid(f->vmim)))
		return state;
	return js_obj_at(f->vmim, "status.migrationState");
}

static const char *
machine_name(const struct page_facts *f)
{
	if (f->vmim != NULL)
		return js_str_at(f->vmim, "spec.vmiName");
	return obj_name(f->vmi != NULL ? f->vmi : f->vm);
}

static const char *
pod_of(const struct page_facts *f)
{
	const json_t *pod;
	size_t i;

	json_array_foreach(f->pods, i, pod)
	{
		const char *uid = obj_label(pod, LABEL_MIGRATION_UID);

		if (f->vmim != NULL && uid != NULL &&
		    str_equal(uid, obj_uid(f->vmim)))
			return obj_name(pod);
	}
	return js_str_at(state_of(f), "targetPod");
}

/* The last complaint about the target pod, of scheduler or kubelet; "". */
static const char *
complaint(const struct page_facts *f)
{
	const char *pod = pod_of(f), *last = "", *when = "";
	const json_t *event;
	size_t i;

	json_array_foreach(f->events, i, event)
	{
		const char *time = js_str_at(event, "lastTimestamp");

		if (!str_equal(js_str_at(event, "type"), "Warning") ||
		    !str_equal(js_str_at(event, "involvedObject.name"), pod) ||
		    strcmp(time, when) < 0)
			continue;
		when = time;
		last = js_str_at(event, "message");
	}
	return last;
}

static void
set_text(json_t *obj, const char *name, const char *value)
{
	if (value[0] != '\0')
		json_object_set_new(obj, name, json_string(value));
}

struct finding {
	enum remedy_of of;
	const char *about; /* "waits", "failed", "machine" */
	const char *code;
	const char *since;
	const char *message;
	const char *detail; /* of somebody else; NULL or "": none */
};

/* Where the runbook has more than under the code, since the nodes have added
 * what their proxies saw; NULL: nowhere. */
static const char *
entry_of(const char *message)
{
	static const struct {
		const char *words, *entry;
	} seen[] = {
		{ "ferry-proxy: CertificateExpired", "certificate-expired" },
		{ "ferry-proxy: CertificateNotYetValid",
		  "certificate-expired" },
		{ "ferry-proxy: WrongCA", "certificate-expired" },
		{ "ferry-proxy: WrongNode", "certificate-expired" },
		{ "ferry-proxy: NoCertificate", "certificate-expired" },
		{ "ferry-proxy: DialTimeout", "port-blocked" },
	};

	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		if (strstr(message, seen[i].words) != NULL)
			return seen[i].entry;
	}
	return NULL;
}

static void
add_finding(const struct page_facts *f, json_t *list,
	    const struct finding *finding)
{
	const json_t *state = state_of(f);
	struct remedy_names names = {
		.ns = f->ns,
		.vm = machine_name(f),
		.vmim = obj_name(f->vmim),
		.source = js_str_at(state, "sourceNode"),
		.target = js_str_at(state, "targetNode"),
		.pod = pod_of(f),
	};
	const struct remedy *remedy = remedy_find(finding->of, finding->code);
	const char *entry;
	json_t *o = json_pack("{s:s, s:s}", "about", finding->about, "code",
			      finding->code);

	set_text(o, "since", finding->since);
	set_text(o, "message", finding->message);
	entry = entry_of(finding->message);
	if (finding->detail != NULL)
		set_text(o, "detail", finding->detail);
	if (remedy == NULL) {
		set_text(o, "meaning",
			 "This version of ferryctl does not know this code.");
	} else {
		set_text(o, "meaning", remedy->meaning);
		json_object_set_new(o, "checks",
				    remedy_steps_json(remedy->check, &names));
		json_object_set_new(o, "remedies",
				    remedy_steps_json(remedy->fix, &names));
		json_object_set_new(
			o, "runbook",
			json_sprintf(PAGE_RUNBOOK "#%s",
				     entry != NULL ? entry : remedy->entry));
	}
	json_array_append_new(list, o);
}

static void
find_failure(const struct page_facts *f, json_t *list)
{
	const json_t *conds = js_arr_at(f->vmim, "status.conditions");
	const json_t *cond = condition_get(conds, COND_FAILURE);
	const char *of_node = js_str_at(state_of(f), "failureCode");
	struct finding finding = {
		.of = REMEDY_FAILURE,
		.about = "failed",
		.code = js_str_at(cond, "reason"),
		.since = js_str_at(cond, "lastTransitionTime"),
		.message = js_str_at(cond, "message"),
	};

	if (!condition_is_true(conds, COND_FAILURE))
		return;
	if (str_equal(finding.code, "ReportedByNode") && of_node[0] != '\0') {
		finding.of = REMEDY_NODE;
		finding.code = of_node;
	}
	add_finding(f, list, &finding);
}

static void
find_wait(const struct page_facts *f, json_t *list)
{
	const json_t *conds = js_arr_at(f->vmim, "status.conditions");
	const json_t *cond = condition_get(conds, COND_WAITING);
	struct finding finding = {
		.of = REMEDY_WAITING,
		.about = "waits",
		.code = js_str_at(cond, "reason"),
		.since = js_str_at(cond, "lastTransitionTime"),
		.message = js_str_at(cond, "message"),
	};

	if (str_equal(finding.code, WAITING_SCHEDULING) ||
	    str_equal(finding.code, WAITING_POD_START))
		finding.detail = complaint(f);
	if (condition_is_true(conds, COND_WAITING))
		add_finding(f, list, &finding);
}

/* Conditions of the machine that are bad when they are False. */
static void
find_machine(const struct page_facts *f, json_t *list)
{
	static const char *const types[] = { COND_LIVE_MIGRATABLE,
					     COND_SYNCHRONIZED,
					     COND_POD_SCHEDULED };
	const json_t *conds = js_arr_at(f->vmi, "status.conditions");

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const json_t *cond = condition_get(conds, types[i]);
		struct finding finding = {
			.of = REMEDY_MACHINE,
			.about = "machine",
			.code = js_str_at(cond, "reason"),
			.since = js_str_at(cond, "lastTransitionTime"),
			.message = js_str_at(cond, "message"),
		};

		if (condition_is_false(conds, types[i]) &&
		    finding.code[0] != '\0')
			add_finding(f, list, &finding);
	}
}

static json_t *
machine_json(const struct page_facts *f)
{
	json_t *o = json_pack("{s:s}", "name", machine_name(f));

	set_text(o, "phase", js_str_at(f->vmi, "status.phase"));
	set_text(o, "printableStatus",
		 js_str_at(f->vm, "status.printableStatus"));
	set_text(o, "node", js_str_at(f->vmi, "status.nodeName"));
	json_object_set_new(o, "exists",
			    json_boolean(f->vmi != NULL || f->vm != NULL));
	return o;
}

static json_t *
migration_json(const struct page_facts *f)
{
	const json_t *state = state_of(f);
	const json_t *progress = js_obj_at(state, "progress");
	json_t *o = json_pack("{s:s}", "name", obj_name(f->vmim));

	set_text(o, "phase", js_str_at(f->vmim, "status.phase"));
	set_text(o, "source", js_str_at(state, "sourceNode"));
	set_text(o, "target", js_str_at(state, "targetNode"));
	set_text(o, "targetPod", pod_of(f));
	set_text(o, "address", js_str_at(state, "targetNodeAddress"));
	set_text(o, "mode", js_str_at(state, "mode"));
	set_text(o, "failureReason", js_str_at(state, "failureReason"));
	set_text(o, "failureCode", js_str_at(state, "failureCode"));
	if (progress != NULL)
		json_object_set_new(o, "progress", json_deep_copy(progress));
	return o;
}

static json_t *
page_timeline(const struct page_facts *f, size_t *ret_left)
{
	AUTO(timeline_unref) struct timeline *timeline = timeline_new();
	const json_t *item;
	size_t i;

	timeline_add_machine(timeline, f->vmi);
	json_array_foreach(f->vmims, i, item)
	{
		if (f->vmim == NULL ||
		    !str_equal(obj_uid(item), obj_uid(f->vmim)))
			timeline_add_earlier(timeline, item);
	}
	timeline_add_migration(timeline, f->vmim);
	json_array_foreach(f->pods, i, item)
	{
		timeline_add_pod(timeline, item);
	}
	json_array_foreach(f->events, i, item)
	{
		timeline_add_event(timeline, item);
	}
	return timeline_json(timeline, ret_left);
}

static char *
migration_sentence(const json_t *m)
{
	const char *phase = js_str_at(m, "phase");
	const char *source = js_str_at(m, "source");
	const char *target = js_str_at(m, "target");
	int64_t downtime = js_int_at(m, "progress.downtimeMs", -1);
	int64_t percent = js_int_at(m, "progress.percent", -1);
	char way[512] = "", more[128] = "";

	if (source[0] != '\0' && target[0] != '\0')
		(void)snprintf(way, sizeof(way), ", %s to %s", source, target);
	if (str_equal(phase, "Succeeded") && downtime >= 0)
		(void)snprintf(more, sizeof(more),
			       ", the guest stood still for %lld ms",
			       (long long)downtime);
	else if (percent >= 0)
		(void)snprintf(more, sizeof(more), ", %lld %% copied",
			       (long long)percent);
	return xasprintf("Migration %s: %s%s%s", js_str_at(m, "name"),
			 phase[0] == '\0' ? "not looked at yet" : phase, way,
			 more);
}

static char *
machine_sentence(const json_t *m)
{
	const char *phase = js_str_at(m, "phase");
	const char *node = js_str_at(m, "node");

	if (!js_bool_at(m, "exists", false))
		return xasprintf("Machine %s: is gone", js_str_at(m, "name"));
	if (phase[0] == '\0')
		phase = js_str_at(m, "printableStatus");
	if (phase[0] == '\0')
		phase = "Stopped";
	return xasprintf("Machine %s: %s%s%s", js_str_at(m, "name"), phase,
			 node[0] == '\0' ? "" : " on ", node);
}

json_t *
page_json(const struct page_facts *facts)
{
	json_t *page = json_pack("{s:s, s:o}", "namespace", facts->ns,
				 "machine", machine_json(facts));
	AUTO(free_ptr)
	char *machine = machine_sentence(js_obj_at(page, "machine"));
	json_t *findings = json_array();
	size_t left = 0;

	json_object_set_new(page, "summary", json_string(machine));
	if (facts->vmim != NULL) {
		AUTO(free_ptr) char *migration = NULL;

		json_object_set_new(page, "migration", migration_json(facts));
		migration = migration_sentence(js_obj_at(page, "migration"));
		json_object_set_new(page, "summary",
				    json_sprintf("%s\n%s", machine, migration));
		find_failure(facts, findings);
		find_wait(facts, findings);
	}
	find_machine(facts, findings);
	json_object_set_new(page, "findings", findings);
	json_object_set_new(page, "timeline", page_timeline(facts, &left));
	json_object_set_new(page, "timelineLeft",
			    json_integer((json_int_t)left));
	if (json_array_size(facts->unseen) > 0)
		json_object_set_new(page, "unseen",
				    json_deep_copy(facts->unseen));
	return page;
}
