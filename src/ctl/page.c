/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/page.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/migration.h"
#include "api/names.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/human.h"
#include "ctl/remedies.h"
#include "ctl/timeline.h"
#include "kube/conditions.h"
#include "kube/obj.h"
#include "meta/time.h"

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

/* What has no time is before all that has one. */
static int64_t
moment(const char *time)
{
	struct err ignored;
	int64_t us;

	return time_parse(time, &us, &ignored) == -1 ? INT64_MIN : us;
}

/* The last complaint about an object since some time: of scheduler, kubelet or
 * handler; "". */
static const char *
complaint(const struct page_facts *f, const char *name, const char *since)
{
	int64_t when = moment(since);
	const char *last = "";
	const json_t *event;
	size_t i;

	json_array_foreach(f->events, i, event)
	{
		int64_t time = moment(timeline_event_time(event));

		if (!str_equal(js_str_at(event, "type"), "Warning") ||
		    !str_equal(js_str_at(event, "involvedObject.name"), name) ||
		    time < when)
			continue;
		when = time;
		last = js_str_at(event, "message");
	}
	return last;
}

/* What somebody else has said about it, for codes that others know more of. */
static const char *
detail_of(const struct page_facts *f, const char *code)
{
	static const struct {
		const char *code;
		bool of_pod; /* otherwise of the machine */
	} known[] = {
		{ WAITING_SCHEDULING, true },
		{ WAITING_POD_START, true },
		{ WAITING_TARGET_PREPARATION, false },
		{ WAITING_SOURCE_START, false },
		{ "PreparingTargetTimeout", false },
		{ "TargetReadyTimeout", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(code, known[i].code)) {
			return complaint(
				f,
				known[i].of_pod ? pod_of(f) : machine_name(f),
				js_str_at(f->vmim,
					  "metadata.creationTimestamp"));
		}
	}
	return "";
}

static void
set_text(json_t *obj, const char *name, const char *value)
{
	if (value[0] != '\0')
		json_object_set_new(obj, name, json_string(value));
}

struct finding {
	enum remedy_of of;
	const char *about; /* "waits", "failed", "machine", "node", "event" */
	const char *code;
	const char *as; /* the code whose remedy it has; NULL: its own */
	const char *since;
	const char *message;
	const char *detail; /* of somebody else; NULL or "": none */
};

/* The nodes add to a message what their proxies saw: "ferry-proxy: CODE: ...".
 * NULL: nothing, or nothing that is known. */
static const struct remedy *
remedy_of_proxy(const char *message)
{
	static const char mark[] = "ferry-proxy: ";
	const char *at = strstr(message, mark);
	AUTO(free_ptr) char *code = NULL;

	if (at == NULL)
		return NULL;
	at += strlen(mark);
	code = xstrndup(at, strcspn(at, ":"));
	return remedy_find(REMEDY_PROXY, code);
}

/* Where the runbook has more than under the code, since somebody has said more
 * than the code does; NULL: nowhere. */
static const char *
entry_of(const char *detail)
{
	static const struct {
		const char *words, *entry;
	} said[] = {
		{ "network-attachment-definitions", "nad-missing" },
		/* The definition is there; what it names on the node is not, as
		 * plugins say it (macvlan, vlan, ipvlan; bridge; ovs). */
		{ "failed to lookup master", "nad-missing" },
		{ "Link not found", "nad-missing" },
		{ "already exists but is not a bridge", "nad-missing" },
		{ "failed to find bridge", "nad-missing" },
		{ "interface '", "migration-network-missing" },
		{ "no address of this host lies in '",
		  "migration-network-missing" },
	};

	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		if (strstr(detail, said[i].words) != NULL)
			return said[i].entry;
	}
	return NULL;
}

static void
set_remedy(json_t *o, const struct page_facts *f, const struct finding *finding,
	   const struct remedy *remedy)
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
	const struct remedy *seen = remedy_of_proxy(finding->message);
	const char *entry = entry_of(js_str_at(o, "detail"));

	json_object_set_new(o, "meaning",
			    json_sprintf("%s%s%s", remedy->meaning,
					 seen == NULL ? "" : " ",
					 seen == NULL ? "" : seen->meaning));
	/* Who saw it happen knows better. */
	if (seen != NULL)
		remedy = seen;
	json_object_set_new(o, "checks",
			    remedy_steps_json(remedy->check, &names));
	json_object_set_new(o, "remedies",
			    remedy_steps_json(remedy->fix, &names));
	json_object_set_new(
		o, "runbook",
		json_sprintf(PAGE_RUNBOOK "#%s",
			     entry != NULL ? entry : remedy->entry));
}

static void
add_finding(const struct page_facts *f, json_t *list,
	    const struct finding *finding)
{
	const struct remedy *remedy = remedy_find(
		finding->of, finding->as != NULL ? finding->as : finding->code);
	json_t *o = json_pack("{s:s, s:s}", "about", finding->about, "code",
			      finding->code);

	set_text(o, "since", finding->since);
	set_text(o, "message", finding->message);
	if (finding->detail != NULL &&
	    strstr(finding->message, finding->detail) == NULL)
		set_text(o, "detail", finding->detail);
	if (remedy == NULL)
		set_text(o, "meaning",
			 "This version of ferryctl does not know this code.");
	else
		set_remedy(o, f, finding, remedy);
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
	finding.detail = detail_of(f, finding.code);
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

	if (!condition_is_true(conds, COND_WAITING))
		return;
	if (str_equal(finding.code, WAITING_BACKOFF) &&
	    obj_annotation(f->vmim, ANNOTATION_WORKLOAD_UPDATE) != NULL)
		finding.as = REMEDY_BACKOFF_OF_UPDATE;
	finding.detail = detail_of(f, finding.code);
	add_finding(f, list, &finding);
}

/* Conditions of the machine that tell of trouble. */
static void
find_machine(const struct page_facts *f, json_t *list)
{
	const struct {
		const json_t *object;
		const char *type;
		bool when; /* it is trouble */
	} troubles[] = {
		{ f->vm, COND_VM_FAILURE, true },
		{ f->vmi, COND_LIVE_MIGRATABLE, false },
		{ f->vmi, COND_SYNCHRONIZED, false },
		{ f->vmi, COND_POD_SCHEDULED, false },
		{ f->vmi, COND_PAUSED, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(troubles); i++) {
		const json_t *conds =
			js_arr_at(troubles[i].object, "status.conditions");
		const char *type = troubles[i].type;
		const json_t *cond = condition_get(conds, type);
		struct finding finding = {
			.of = REMEDY_MACHINE,
			.about = "machine",
			.code = js_str_at(cond, "reason"),
			.since = js_str_at(cond, "lastTransitionTime"),
			.message = js_str_at(cond, "message"),
		};

		if (finding.code[0] != '\0' &&
		    (troubles[i].when ? condition_is_true(conds, type)
				      : condition_is_false(conds, type)))
			add_finding(f, list, &finding);
	}
}

static bool
is_starting(const json_t *vmi)
{
	const char *phase = js_str_at(vmi, "status.phase");

	return str_equal(phase, vmi_phase_name(VMI_SCHEDULING)) ||
	       str_equal(phase, vmi_phase_name(VMI_SCHEDULED));
}

/* What keeps a machine from starting that no condition tells of: its pod has a
 * node, and cannot be run there. */
static void
find_start(const struct page_facts *f, json_t *list)
{
	const json_t *pod;
	size_t i;

	if (!is_starting(f->vmi))
		return;
	json_array_foreach(f->pods, i, pod)
	{
		struct finding finding = {
			.of = REMEDY_MACHINE,
			.about = "machine",
			.code = "PodNotStarted",
			.since = js_str_at(pod, "metadata.creationTimestamp"),
			.message = complaint(f, obj_name(pod), ""),
		};

		if (finding.message[0] != '\0')
			add_finding(f, list, &finding);
	}
}

/* Nodes of the machine that are not well. That of a migration that has
 * succeeded is the machine's own. */
static void
find_nodes(const struct page_facts *f, json_t *list)
{
	const char *at = js_str_at(f->vmi, "status.nodeName");
	const json_t *node;
	size_t i;

	json_array_foreach(f->nodes, i, node)
	{
		const json_t *conds = js_arr_at(node, "status.conditions");
		const json_t *cond = condition_get(conds, COND_READY);
		AUTO(free_ptr)
		char *text =
			xasprintf("Node %s %s. %s", obj_name(node),
				  conds == NULL ? "is gone" : "is not ready",
				  js_str_at(cond, "message"));
		struct finding finding = {
			.of = REMEDY_MACHINE,
			.about = "node",
			.code = str_equal(obj_name(node), at)
					? "NodeNotReady"
					: "TargetNodeNotReady",
			.since = js_str_at(cond, "lastTransitionTime"),
			.message = text,
		};

		if (!condition_is_true(conds, COND_READY))
			add_finding(f, list, &finding);
	}
}

/* What is over, and somebody should know all the same. */
static void
find_events(const struct page_facts *f, json_t *list)
{
	const json_t *event;
	size_t i;

	json_array_foreach(f->events, i, event)
	{
		struct finding finding = {
			.of = REMEDY_EVENT,
			.about = PAGE_EVENT,
			.code = js_str_at(event, "reason"),
			.since = timeline_event_time(event),
			.message = js_str_at(event, "message"),
		};

		if (remedy_find(finding.of, finding.code) != NULL)
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
	/* The migration has what came of it besides. */
	const json_t *prediction =
		js_obj_at(f->vmim, "status.migrationState.prediction");
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
	if (prediction == NULL)
		prediction = js_obj_at(state, "prediction");
	if (prediction != NULL)
		json_object_set_new(o, "prediction",
				    json_deep_copy(prediction));
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
	int64_t percent = js_int_at(m, "progress.percent", -1);
	char way[512] = "", more[128] = "", pause[HUMAN_PAUSE_SIZE];

	if (source[0] != '\0' && target[0] != '\0')
		(void)snprintf(way, sizeof(way), ", %s to %s", source, target);
	(void)human_pause(js_int_at(m, "progress.downtimeMs", 0),
			  js_int_at(m, "progress.blackoutMs", 0), pause);
	if (str_equal(phase, "Succeeded") && pause[0] != '\0')
		(void)snprintf(more, sizeof(more),
			       ", the guest stood still for %s", pause);
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
	find_start(facts, findings);
	find_nodes(facts, findings);
	find_events(facts, findings);
	json_object_set_new(page, "findings", findings);
	json_object_set_new(page, "timeline", page_timeline(facts, &left));
	json_object_set_new(page, "timelineLeft",
			    json_integer((json_int_t)left));
	if (json_array_size(facts->unseen) > 0)
		json_object_set_new(page, "unseen",
				    json_deep_copy(facts->unseen));
	return page;
}
