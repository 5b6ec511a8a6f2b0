/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/run.h"

#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/migration/answers.h"
#include "controller/migration/decide.h"
#include "controller/migration/order.h"
#include "controller/migration/rank.h"
#include "controller/migration/runstate.h"
#include "controller/migration/sight.h"
#include "kube/obj.h"
#include "meta/time.h"

/* More means that two of its decisions take turns. */
#define TURNS_MAX 16
/* What was read so long ago is not "just now" any more. */
#define CONFIRMED_US (5 * TIME_US_PER_SECOND)
/*
 * From the ready pod to the transfer the phases follow each other closely.
 * They are written together, when the transfer runs or so much later: only
 * people look at them, and each would be a write of every migration. Nobody
 * waits for one: what follows from a phase is done at once.
 */
#define SETTLE_US TIME_US_PER_SECOND
/* As often as nodes tell how far a transfer is. */
#define PROGRESS_US TIME_US_PER_SECOND
/* With so many going on that nobody looks at each, and nodes that have much to
 * do, the writes would be in the way of those that somebody waits for. */
#define SETTLE_STORM_US (30 * TIME_US_PER_SECOND)
#define PROGRESS_STORM_US (10 * TIME_US_PER_SECOND)
/* When caches are looked at again that do not show yet what was written. */
#define CATCH_UP_US TIME_US_PER_SECOND
/* A hand-off of which nobody knows is not tried again before. */
#define HANDOFF_UNKNOWN_US (10 * TIME_US_PER_SECOND)

static void turn(struct run *run);

/* Whether so many go on that what only people look at has to wait. */
static bool
in_storm(const struct run *run)
{
	return slots_used(run->all->slots) > MIGRATIONS_URGENT_MAX;
}

static void
drop_orders(struct run *run)
{
	for (size_t i = 0; i < run->step_count; i++) {
		order_done(&run->steps[i].order);
		free(run->steps[i].pod_uid);
	}
	run->step_count = run->at = 0;
	for (size_t i = 0; i < ARRAY_LEN(run->writes); i++)
		order_done(&run->writes[i]);
}

void
run_free(struct run *run)
{
	TAILQ_REMOVE(&run->all->runs, run, entry);
	kube_cancel(run->call);
	reading_free(run->reading);
	json_decref(run->ns_json);
	drop_orders(run);
	free(run->ns);
	free(run->name);
	free(run->uid);
	free(run->vmi_name);
	free(run->vmi_uid);
	free(run->waited_for);
	free(run->said);
	free(run);
}

static void
log_turn(const struct run *run)
{
	const struct decision *d = &run->decision;
	struct log_field ref[RUNSTATE_REF];

	for (size_t i = 0; i < d->action_count; i++)
		log_debug(runstate_ref(run, ref), "%s: %s", d->rule,
			  action_name(d->actions[i].kind));
}

/* The slots it has by rights: its pod is there, whoever made it. */
static void
adopt_slots(struct run *run, const struct facts *f)
{
	const struct migration_state *state = facts_state(f);
	const char *source, *target;

	if (vmim_is_final(f->vmim) ||
	    (f->target_pod == NULL &&
	     !migration_phase_is_running(f->vmim->phase)))
		return;
	source = state != NULL    ? state->source_node
		 : f->vmi != NULL ? f->vmi->node
				  : "";
	target = state != NULL ? state->target_node : "";
	slots_adopt(run->all->slots, f->vmim->meta.uid, source, target);
}

static void
see_slots(struct run *run, struct facts *f)
{
	const struct slot_limits limits = migrations_limits(run->all);
	const char *uid = f->vmim->meta.uid;

	adopt_slots(run, f);
	f->slot = slots_ask(run->all->slots, uid,
			    f->vmi == NULL ? "" : f->vmi->node, &limits);
	f->inbound = slots_ask_inbound(
		run->all->slots, uid,
		f->target_pod == NULL ? "" : f->target_pod->node, &limits);
}

/* Another one of the machine that this process has let begin. */
static bool
has_begun_other(const struct run *run, const struct vmim *vmim)
{
	const struct migrations *m = run->all;
	char key[KUBE_KEY_MAX];
	struct cache_walk walk =
		cache_find(world_cache(m->world, WORLD_VMIMS), VMIMS_BY_VMI,
			   kube_key(vmim->meta.ns, vmim->vmi_name, key));
	const struct vmim *other;

	while ((other = world_next(&walk)) != NULL) {
		const struct note *note =
			notes_find(&m->notes, kube_key(other->meta.ns,
						       other->meta.name, key));

		if (note == NULL || note == run->note || !note->begun ||
		    strcmp(note->uid, other->meta.uid) != 0)
			continue;
		if (!vmim_is_final(other) &&
		    (note->vmim == NULL || !vmim_is_final(note->vmim)))
			return true;
	}
	return false;
}

/* What the note says, as far as it still holds. */
static void
see_note(struct run *run, struct facts *f)
{
	struct note *note = run->note;

	if (f->target_pod != NULL || f->confirmed)
		note->create_sent = false;
	if (f->vmi != NULL && vmi_is_handed_to(f->vmi, f->vmim->meta.uid))
		note->handoff_sent = false;
	if (f->confirmed &&
	    f->now_us >= note->handoff_sent_us + HANDOFF_UNKNOWN_US)
		note->handoff_sent = false;
	if (note->quota_text != NULL && f->now_us >= note->quota_until_us)
		note_set_quota(note, NULL, 0);
	if (note->refused_text != NULL && f->now_us >= note->refused_until_us)
		note_retry(note);
	f->create_sent = note->create_sent;
	f->handoff_sent = note->handoff_sent;
	f->begun = note->begun;
	f->other_begun = has_begun_other(run, f->vmim);
	f->quota_text = note->quota_text;
	f->quota_until_us = note->quota_until_us;
	f->refused_text = note->refused_text;
	f->refused_until_us = note->refused_until_us;
}

/* False when the migration is gone. */
static bool
see(struct run *run, struct sight *sight, struct facts *f)
{
	struct world *world = run->all->world;

	memset(f, 0, sizeof(*f));
	f->now_us = world_now_us(world);
	f->config = world_config(world);
	if (run->reading != NULL &&
	    f->now_us > run->reading->at_us + CONFIRMED_US) {
		reading_free(run->reading);
		run->reading = NULL;
	}
	f->confirmed = run->reading != NULL;
	if (f->confirmed)
		sight_from_reading(sight, world, run->reading, run->note);
	else
		sight_from_world(sight, world, run->key, run->note);
	/* Another one of the same name has its own turn. */
	if (sight->vmim == NULL || !str_equal(sight->vmim->meta.uid, run->uid))
		return false;
	sight_facts(sight, f);
	see_note(run, f);
	see_slots(run, f);
	return true;
}

/* Who it is about, for events that come later. */
static void
remember(struct run *run, const struct facts *f)
{
	const struct cond *waiting = conds_find(&f->vmim->conds, COND_WAITING);

	run->phase = f->vmim->phase;
	run->phase_since_us = f->vmim->phase_since_us[run->phase];
	run->waited_since_us = waiting == NULL ? 0 : waiting->since_us;
	free(run->waited_for);
	run->waited_for = xstrdup(waiting == NULL ? "" : waiting->reason);
	run->urgent = !in_storm(run) && rank_priority(f) >= RANK_ACTIVE;
	free(run->vmi_uid);
	run->vmi_uid = xstrdup(f->vmi == NULL ? "" : f->vmi->meta.uid);
}

/* A cache that is behind would have the same done again. */
static void
leave_note_of_gone(struct run *run)
{
	const struct vmim *vmim =
		world_get_key(run->all->world, WORLD_VMIMS, run->key);

	migrations_release(run->all, run->uid);
	if (vmim != NULL && str_equal(vmim->meta.uid, run->uid))
		run->note->gone = true;
	else
		notes_drop(&run->all->notes, run->key);
}

/* While it ran, and nobody says that twice. */
static bool
was_deleted(const struct run *run)
{
	const struct cache_object *object = cache_get_key(
		world_cache(run->all->world, WORLD_VMIMS), run->key);

	return object == NULL || !str_equal(object->uid, run->uid);
}

static void
leave_note(struct run *run)
{
	struct note *note = run->note;

	if (was_deleted(run))
		run->gone = true;
	if (note->finalized && (run->gone || run->settled)) {
		tally_ended(&run->all->tally, note->writes);
		note->finalized = false;
		note->writes = 0;
	}
	if (run->gone)
		leave_note_of_gone(run);
	else if (run->settled && run->current)
		notes_drop(&run->all->notes, run->key);
}

/* The end; failed: the same again, after a pause. */
static void
finish(struct run *run, bool failed)
{
	struct migrations *m = run->all;
	uint64_t took_us = (loop_now_ns() - run->began_ns) / 1000;

	timing_add(run->urgent ? &m->tally.active : &m->tally.waiting, took_us);
	leave_note(run);
	worker_end(m->worker, run->key, failed);
	run_free(run);
}

static void
park(struct run *run, const struct facts *f, const struct decision *d)
{
	struct migrations *m = run->all;
	bool inbound = d->wants == SLOT_TARGET_FULL;
	struct parked parked = {
		.key = run->key,
		.uid = run->uid,
		.priority = rank_priority(f),
		.created_us = f->vmim->meta.created_us,
	};

	if (d->wants == SLOT_FREE) {
		parking_drop(m->outbound, run->key);
		parking_drop(m->inbound, run->key);
		return;
	}
	/* Who waits for a slot has a machine, and for a node's a pod. */
	parked.node = inbound ? f->target_pod->node : f->vmi->node;
	parking_put(inbound ? m->inbound : m->outbound, &parked);
	parking_drop(inbound ? m->outbound : m->inbound, run->key);
}

/* Nothing more to do now. */
static void
rest(struct run *run, const struct facts *f)
{
	struct migrations *m = run->all;
	const struct decision *d = &run->decision;
	bool final = vmim_is_final(f->vmim);

	park(run, f, d);
	/* A slot is for one that has a pod, or is about to. */
	if (final || (f->target_pod == NULL && !f->create_sent &&
		      f->vmim->phase <= MIGRATION_PENDING))
		migrations_release(m, run->uid);
	run->settled = final && !f->vmim->has_finalizer;
	run->current = sight_is_current(m->world, run->note, run->vmi_uid);
	/* Its note is needed until then, and not after. */
	if (run->settled && !run->current)
		migrations_queue_after(m, f, run->key, CATCH_UP_US);
	if (d->again_us != DECISION_NEVER)
		migrations_queue_after(m, f, run->key, d->again_us - f->now_us);
	/* Nothing changes when it was never done, so nobody would call. */
	if (f->handoff_sent)
		migrations_queue_after(m, f, run->key,
				       run->note->handoff_sent_us +
					       HANDOFF_UNKNOWN_US - f->now_us);
	finish(run, false);
}

static void
on_reading(struct reading *reading, void *arg)
{
	struct run *run = arg;
	struct log_field ref[RUNSTATE_REF];

	if (!reading->ok) {
		log_debug(runstate_ref(run, ref),
			  "cannot be read, trying "
			  "again: %s",
			  reading->err.text);
		finish(run, true);
		return;
	}
	turn(run);
}

static void
read_all(struct run *run, const struct facts *f)
{
	const struct reading_request request = {
		.client = world_client(run->all->world),
		.vmim = f->vmim,
		.vmi_uid = f->vmi == NULL ? "" : f->vmi->meta.uid,
		.urgent = run->urgent,
		.done = on_reading,
		.arg = run,
	};

	reading_free(run->reading);
	run->all->tally.reads++;
	run->reading = reading_start(&request);
}

static void
on_namespace(const struct kube_result *result, void *arg)
{
	struct run *run = arg;
	struct log_field ref[RUNSTATE_REF];

	run->call = NULL;
	if (result->status->code != 0 || result->answer == NULL) {
		log_debug(runstate_ref(run, ref),
			  "its namespace cannot be read, trying again: %s",
			  result->status->message);
		finish(run, true);
		return;
	}
	run->ns_json = json_incref(result->answer);
	turn(run);
}

static void
read_namespace(struct run *run)
{
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &kube_namespaces,
		.name = run->ns,
		.urgent = run->urgent,
	};

	run->call = kube_send(world_client(run->all->world), &request,
			      on_namespace, run);
}

/* True when something has to be read first. */
static bool
reads_first(struct run *run, const struct facts *f)
{
	const struct decision *d = &run->decision;

	if (run->reading == NULL &&
	    (d->confirm || decision_action(d, ACTION_STAMP) != NULL ||
	     (f->create_sent && f->target_pod == NULL) || f->handoff_sent)) {
		read_all(run, f);
		return true;
	}
	if (decision_action(d, ACTION_HANDOFF) != NULL &&
	    run->ns_json == NULL) {
		read_namespace(run);
		return true;
	}
	return false;
}

/* The slot is taken right before the request is made: nobody comes between. */
static bool
take_slot(struct run *run, const struct facts *f, const struct action *action)
{
	const struct slot_limits limits = migrations_limits(run->all);
	struct slots *slots = run->all->slots;

	if (action->kind == ACTION_CREATE_TARGET)
		return slots_take(slots, run->uid, f->vmi->node, &limits) ==
		       SLOT_HELD;
	if (action->kind == ACTION_HANDOFF)
		return slots_take_inbound(slots, run->uid, action->pod->node,
					  &limits) == SLOT_HELD;
	return true;
}

static int
make_steps(struct run *run, const struct facts *f)
{
	const struct order_context context = {
		.world = run->all->world,
		.facts = f,
		.reading = run->reading,
		.ns = run->ns_json,
	};
	const struct decision *d = &run->decision;
	struct err err;

	for (size_t i = 0; i < d->action_count; i++) {
		const struct action *action = &d->actions[i];
		struct step *step = &run->steps[i];

		if (!take_slot(run, f, action))
			return -1;
		if (order_make(&context, action, &step->order, &err) == -1) {
			answers_say_failed(run, action, err.text);
			if (action->kind == ACTION_CREATE_TARGET)
				note_refuse(run->note, err.text, f->now_us);
			return -1;
		}
		step->kind = action->kind;
		step->pod_uid = action->pod == NULL
					? NULL
					: xstrdup(action->pod->meta.uid);
		run->step_count++;
	}
	return 0;
}

/* What the machine says of the transfer, when the migration is to say it too:
 * not often, and not twice. */
static json_t *
progress_due(struct run *run, const struct facts *f)
{
	const struct migration_state *state = facts_state(f);
	struct note *note = run->note;
	int64_t pause_us = in_storm(run) ? PROGRESS_STORM_US : PROGRESS_US;
	AUTO(js_unref) json_t *parsed = NULL;
	json_t *progress;
	struct err err;

	if (run->decision.phase != MIGRATION_RUNNING || state == NULL)
		return NULL;
	if (note->progress_us == 0)
		note->progress_us = f->now_us;
	if (f->now_us < note->progress_us + pause_us) {
		decision_again(&run->decision, note->progress_us + pause_us);
		return NULL;
	}
	note->progress_us = f->now_us;
	parsed = js_parse(state->text, strlen(state->text), &err);
	progress = js_obj_at(parsed, "progress");
	if (progress == NULL || json_equal(progress, note->progress) == 1)
		return NULL;
	json_decref(note->progress);
	note->progress = json_incref(progress);
	return json_incref(progress);
}

/* How long phases wait for those that come next. */
static int64_t
settle_us(const struct run *run)
{
	return in_storm(run) ? SETTLE_STORM_US : SETTLE_US;
}

/* Whether its status is to be written now; if not, when. */
static bool
status_is_due(struct run *run, const struct facts *f)
{
	struct decision *d = &run->decision;
	struct note *note = run->note;
	int64_t first_us = f->now_us, due_us;

	for (size_t i = 0; i < d->passed_count; i++) {
		enum migration_phase phase = d->passed[i];

		if (note->entered_us[phase] == 0)
			note->entered_us[phase] = f->now_us;
		if (note->entered_us[phase] < first_us)
			first_us = note->entered_us[phase];
	}
	due_us = first_us + settle_us(run);
	if (d->passed_count == 0 || d->passed[0] < MIGRATION_SCHEDULED ||
	    d->phase > MIGRATION_TARGET_READY || f->now_us >= due_us)
		return true;
	decision_again(d, due_us);
	return false;
}

static void
make_writes(struct run *run, const struct facts *f)
{
	const struct decision *d = &run->decision;
	AUTO(js_unref) json_t *progress = progress_due(run, f);

	if ((decision_changes_status(d) && status_is_due(run, f)) ||
	    progress != NULL)
		order_status(f, d, run->note, progress,
			     &run->writes[WRITE_STATUS]);
	if (d->remove_finalizer)
		order_drop_finalizer(run->reading,
				     &run->writes[WRITE_FINALIZER]);
	if (d->delete_migration)
		order_delete_migration(f, &run->writes[WRITE_DELETION]);
}

static bool
has_orders(const struct run *run)
{
	for (size_t i = 0; i < ARRAY_LEN(run->writes); i++) {
		if (run->writes[i].request.resource != NULL)
			return true;
	}
	return run->step_count != 0;
}

static void look(struct run *run);
static bool send_next(struct run *run);

static void
follow(struct run *run, enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_NEXT:
		if (!send_next(run))
			turn(run);
		break;
	case VERDICT_TURN:
		turn(run);
		break;
	case VERDICT_LOOK:
		look(run);
		break;
	case VERDICT_PAUSE:
		finish(run, !run->gone);
		break;
	}
}

static void
send(struct run *run, struct order *order, kube_done_fn *done)
{
	order->request.urgent = run->urgent;
	if (order->request.verb != KUBE_GET) {
		run->all->tally.writes++;
		run->note->writes++;
	}
	run->call = kube_send(world_client(run->all->world), &order->request,
			      done, run);
}

static void
on_look(const struct kube_result *result, void *arg)
{
	struct run *run = arg;

	run->call = NULL;
	follow(run,
	       answers_look(run, &run->decision.actions[run->at - 1], result));
}

static void
look(struct run *run)
{
	const struct order *made = &run->steps[run->at - 1].order;
	AUTO(order_done) struct order order;

	order_look(made->ns, obj_name(made->body), &order);
	send(run, &order, on_look);
}

static void
on_step(const struct kube_result *result, void *arg)
{
	struct run *run = arg;
	size_t at = run->at++;

	run->call = NULL;
	follow(run, answers_step(run, &run->steps[at],
				 &run->decision.actions[at], result));
}

static void
on_write(const struct kube_result *result, void *arg)
{
	struct run *run = arg;
	unsigned which = (unsigned)(run->at++ - run->step_count);

	run->call = NULL;
	follow(run, answers_write(run, which, result));
}

/* Steps, then writes; false behind the last: something is new then, and it is
 * time for a turn. */
static bool
send_next(struct run *run)
{
	size_t writes_end = run->step_count + ARRAY_LEN(run->writes);

	if (run->at < run->step_count) {
		send(run, &run->steps[run->at].order, on_step);
		return true;
	}
	while (run->at < writes_end &&
	       run->writes[run->at - run->step_count].request.resource == NULL)
		run->at++;
	if (run->at == writes_end)
		return false;
	send(run, &run->writes[run->at - run->step_count], on_write);
	return true;
}

/* True when there is to be another turn at once; if not, the run may be gone.
 */
static bool
carry_out(struct run *run, const struct facts *f)
{
	const struct decision *d = &run->decision;
	int made = make_steps(run, f);

	/* Nobody comes between: another one of the machine sees it from now
	 * on, whatever it has read. */
	run->note->begun |= f->vmim->phase == MIGRATION_UNSET &&
			    d->phase >= MIGRATION_PENDING &&
			    d->phase <= MIGRATION_RUNNING;
	if (made == 0)
		make_writes(run, f);
	if (made == -1) {
		drop_orders(run);
		migrations_release(run->all, run->uid);
		/* What is known of it is written now. */
		if (run->note->refused_text != NULL)
			return true;
		finish(run, true);
	} else if (has_orders(run)) {
		(void)send_next(run);
	} else {
		rest(run, f);
	}
	return false;
}

static bool
take_turn(struct run *run)
{
	struct sight sight;
	struct facts facts;
	struct log_field ref[RUNSTATE_REF];
	bool again = false;

	drop_orders(run);
	run->quota_changes = run->all->quota_changes;
	if (!see(run, &sight, &facts)) {
		sight_done(&sight);
		run->gone = true;
		finish(run, false);
		return false;
	}
	remember(run, &facts);
	decide(&facts, &run->decision);
	log_turn(run);
	if (++run->turns > TURNS_MAX) {
		log_error(runstate_ref(run, ref),
			  "does not settle (%s), pausing", run->decision.rule);
		sight_done(&sight);
		finish(run, true);
		return false;
	}
	if (!reads_first(run, &facts))
		again = carry_out(run, &facts);
	sight_done(&sight);
	return again;
}

static void
turn(struct run *run)
{
	while (take_turn(run))
		continue;
}

void
run_start(struct migrations *m, const char *key)
{
	const struct vmim *vmim = world_get_key(m->world, WORLD_VMIMS, key);
	struct note *note;
	struct run *run;

	if (vmim == NULL) {
		worker_end(m->worker, key, false);
		return;
	}
	note = notes_get(&m->notes, key, vmim->meta.uid);
	if (note->gone) {
		worker_end(m->worker, key, false);
		return;
	}
	run = xmalloc0(sizeof(*run));
	run->all = m;
	run->key = key;
	run->note = note;
	run->ns = xstrdup(vmim->meta.ns);
	run->name = xstrdup(vmim->meta.name);
	run->uid = xstrdup(vmim->meta.uid);
	run->vmi_name = xstrdup(vmim->vmi_name);
	run->created_us = vmim->meta.created_us;
	run->began_ns = run->note->queued_ns != 0 ? run->note->queued_ns
						  : loop_now_ns();
	run->note->queued_ns = 0;
	TAILQ_INSERT_TAIL(&m->runs, run, entry);
	turn(run);
}
