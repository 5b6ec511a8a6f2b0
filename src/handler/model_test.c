/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays one migration between two nodes at random: handlers look late or not at
 * all, are restarted, write onto objects that have changed; proxies and
 * launchers are killed; people cancel. What handlers decide is carried out on
 * launchers, proxies and the object. After each step it is checked that nothing
 * has happened that never may, and at the end that it has come to its end.
 *
 * The controller is played by its rules about pods, from docs/migration.md.
 * Its last resort for a source that is silent for minutes is not: then nobody
 * can know.
 */
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/str.h"
#include "handler/testfacts.h"
#include "kube/obj.h"
#include "meta/patch.h"
#include "meta/time.h"

#define RUNS 1000
#define STEPS 120
#define DRAIN 600
#define SECOND INT64_C(1000000)

enum {
	A,
	B,
	NODES
};

/* One node: its launcher is of the testnode's status, and remembers. */
struct place {
	struct testnode node;
	bool listens[2]; /* ferry-proxy: source, target */
	/* What its handler remembers, lost when it is restarted. */
	const char *listener[2];
	bool silent; /* the handler does not run */
	bool cut;    /* it has no way to ferry-proxy, which may run on */
};

static struct place places[NODES];
static json_t *live; /* the machine on the server */
static int64_t now_us;
static bool lost; /* somebody has killed what the guest was in */
static unsigned long long seed;
static unsigned run;

/* How often what is worth playing was played. */
static unsigned arrived, failed, canceled, post_copies, unconfirmed;
static unsigned conflicts, cuts, killed, ended, removed;

#define CHECK(what)                                         \
	do {                                                \
		if (!(what))                                \
			fail_msg("run %u: %s", run, #what); \
	} while (0)

static unsigned
dice(unsigned sides)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % sides;
}

static struct launch_record *
record_of(int i, enum launch_role role)
{
	struct launch_record *r = places[i].node.status.migration;

	return r != NULL && r->role == role ? r : NULL;
}

static bool
is_alive(int i)
{
	return places[i].node.facts.pod != NULL &&
	       !pod_is_down(&places[i].node.pod);
}

/* The guest executes there, or would if it got all of its memory. */
static bool
runs_on(int i)
{
	enum launch_state state = places[i].node.status.state;

	return is_alive(i) &&
	       (state == LAUNCH_RUNNING || state == LAUNCH_PAUSED);
}

/* The source has handed it over and does not know whether it has arrived. */
static bool
is_held(void)
{
	const struct launch_record *from = record_of(A, LAUNCH_SOURCE);

	return is_alive(A) && from != NULL && !from->completed &&
	       from->reason == LAUNCH_REASON_UNCONFIRMED;
}

/* Post-copy broke: half of it stands at the source. */
static bool
is_stalled(void)
{
	const struct launch_record *from = record_of(A, LAUNCH_SOURCE);

	return is_alive(A) && from != NULL && !from->completed &&
	       from->reason == LAUNCH_REASON_POST_COPY_FAILED;
}

static bool
state_bool(const char *name)
{
	return js_bool_at(js_obj_at(live, "status.migrationState"), name,
			  false);
}

static bool
state_has(const char *name)
{
	return js_at(js_obj_at(live, "status.migrationState"), name) != NULL;
}

static bool
is_over(void)
{
	return state_bool("completed") || state_bool("failed");
}

static int
home(void)
{
	return str_equal(js_str_at(live, "status.nodeName"), "a") ? A : B;
}

static void
store(json_t *object)
{
	static unsigned version = 1;
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", ++version);
	json_decref(live);
	live = object;
	testfacts_set(live, "metadata", "resourceVersion", json_string(text));
}

static void
set_state(const char *name, json_t *value)
{
	json_t *object = json_deep_copy(live);

	testfacts_set(object, "status.migrationState", name, value);
	store(object);
}

/* Launchers and what is between them. */

static void
end_record(struct launch_record *r, enum launch_reason reason)
{
	r->completed = true;
	r->failed = reason != LAUNCH_REASON_NONE;
	r->reason = reason;
	r->end_us = now_us;
	if (r->abort == LAUNCH_ABORTING)
		r->abort = r->failed ? LAUNCH_ABORT_SUCCEEDED
				     : LAUNCH_ABORT_FAILED;
}

static void
set_domain(int i, enum launch_state state, enum launch_cause cause)
{
	places[i].node.status.state = state;
	places[i].node.status.cause = cause;
}

static void
pod_ends(int i)
{
	struct testnode *n = &places[i].node;

	n->pod.phase = POD_SUCCEEDED;
	n->facts.link = LINK_NONE;
	n->facts.status = NULL;
}

/* The source cannot reach the target, or is told to stop, before the guest
 * runs there. */
static void
transfer_breaks(enum launch_reason reason)
{
	struct launch_record *from = record_of(A, LAUNCH_SOURCE);
	struct launch_record *to = record_of(B, LAUNCH_TARGET);

	if (is_alive(A) && from != NULL && !from->completed && !is_held()) {
		end_record(from, reason);
		set_domain(A, LAUNCH_RUNNING, LAUNCH_CAUSE_OTHER);
	}
	if (is_alive(B) && to != NULL && to->domain_detected &&
	    !to->completed) {
		end_record(to, LAUNCH_REASON_NEVER_ARRIVED);
		set_domain(B, LAUNCH_NO_DOMAIN, LAUNCH_CAUSE_NONE);
	}
}

static void
transfer_stalls(void)
{
	struct launch_record *from = record_of(A, LAUNCH_SOURCE);
	struct launch_record *to = record_of(B, LAUNCH_TARGET);

	if (is_alive(A)) {
		from->reason = LAUNCH_REASON_POST_COPY_FAILED;
		if (from->end_us == 0)
			from->end_us = now_us;
		set_domain(A, LAUNCH_PAUSED, LAUNCH_CAUSE_POST_COPY_FAILED);
	}
	if (is_alive(B)) {
		to->reason = LAUNCH_REASON_POST_COPY_FAILED;
		set_domain(B, LAUNCH_PAUSED, LAUNCH_CAUSE_POST_COPY_FAILED);
	}
}

static void
guest_arrives(struct launch_record *from, struct launch_record *to)
{
	end_record(from, LAUNCH_REASON_NONE);
	set_domain(A, LAUNCH_STOPPED, LAUNCH_CAUSE_MIGRATED);
	if (to->domain_ready_us == 0)
		to->domain_ready_us = now_us;
	end_record(to, LAUNCH_REASON_NONE);
	set_domain(B, LAUNCH_RUNNING, LAUNCH_CAUSE_MIGRATED);
}

/* The target's word is lost: it has the machine, or not. */
static void
answer_is_lost(struct launch_record *from, struct launch_record *to)
{
	unconfirmed++;
	if (dice(2) == 0) {
		guest_arrives(from, to);
	} else {
		end_record(to, LAUNCH_REASON_NEVER_ARRIVED);
		set_domain(B, LAUNCH_NO_DOMAIN, LAUNCH_CAUSE_NONE);
	}
	from->completed = from->failed = false;
	from->reason = LAUNCH_REASON_UNCONFIRMED;
	from->abort = LAUNCH_ABORT_NONE;
	from->cut_streams = false;
	from->end_us = now_us;
	set_domain(A, LAUNCH_PAUSED, LAUNCH_CAUSE_USER);
}

/* libvirt at work, one step. */
static void
transfer(void)
{
	struct launch_record *from = record_of(A, LAUNCH_SOURCE);
	struct launch_record *to = record_of(B, LAUNCH_TARGET);
	bool way = places[A].listens[0] && places[B].listens[1];
	bool post;

	if (from == NULL || from->completed || !is_alive(A))
		return;
	post = from->mode == LAUNCH_POST_COPY;
	if (from->reason == LAUNCH_REASON_POST_COPY_FAILED || is_held())
		return;
	if (!way || to == NULL || !is_alive(B)) {
		if (post)
			transfer_stalls();
		else
			transfer_breaks(LAUNCH_REASON_CONNECTION_LOST);
	} else if (from->abort == LAUNCH_ABORTING && !post) {
		if (dice(4) == 0)
			from->cut_streams = true;
		else
			transfer_breaks(LAUNCH_REASON_CANCELED);
	} else if (post && dice(3) > 0) {
		return; /* the rest is on its way */
	} else if (!to->domain_detected) {
		to->domain_detected = true;
		set_domain(B, LAUNCH_STARTING, LAUNCH_CAUSE_MIGRATING);
	} else if (!post && dice(4) == 0) {
		post_copies++;
		from->mode = to->mode = LAUNCH_POST_COPY;
		to->domain_ready_us = now_us;
		set_domain(A, LAUNCH_PAUSED, LAUNCH_CAUSE_POST_COPY);
		set_domain(B, LAUNCH_RUNNING, LAUNCH_CAUSE_POST_COPY);
	} else if (!post && dice(3) == 0) {
		answer_is_lost(from, to);
	} else {
		guest_arrives(from, to);
	}
}

/* The machine is on both nodes. */
static bool
is_in_halves(void)
{
	const struct launch_record *from = record_of(A, LAUNCH_SOURCE);

	return from != NULL && !from->completed &&
	       from->mode == LAUNCH_POST_COPY;
}

static void
launcher_dies(int i)
{
	bool halves = is_in_halves();

	/* Half a machine is none. */
	lost |= runs_on(i);
	/* The other side does not always notice. */
	if (!halves && (i == B || dice(2) == 0))
		transfer_breaks(LAUNCH_REASON_CONNECTION_LOST);
	pod_ends(i);
	places[i].node.pod.phase = POD_FAILED;
	set_domain(i, LAUNCH_NO_DOMAIN, LAUNCH_CAUSE_NONE);
	if (halves)
		transfer_stalls();
}

/* Steps of a handler. */

static void
prepare(struct place *p)
{
	if (p->node.status.migration == NULL)
		(void)testnode_record(&p->node, LAUNCH_TARGET);
}

static void
migrate(struct place *p)
{
	if (p->node.status.migration != NULL ||
	    p->node.status.state != LAUNCH_RUNNING)
		return;
	testnode_record(&p->node, LAUNCH_SOURCE)->start_us = now_us;
}

static void
cancel(struct place *p)
{
	struct launch_record *r = p->node.status.migration;

	if (r == NULL || r->completed || r->role != LAUNCH_SOURCE)
		return;
	/* Nothing runs that could be canceled, and it is refused. */
	if (is_stalled())
		return;
	if (is_held()) {
		/* Only what has not arrived is taken back. */
		CHECK(!runs_on(B));
		r->abort = LAUNCH_ABORTING;
		end_record(r, LAUNCH_REASON_CONNECTION_LOST);
		set_domain(A, LAUNCH_RUNNING, LAUNCH_CAUSE_USER);
		return;
	}
	r->abort = r->mode == LAUNCH_POST_COPY ? LAUNCH_ABORT_FAILED
					       : LAUNCH_ABORTING;
}

/* What stands can never run again: what has run on elsewhere must not run from
 * here, and half of a machine cannot. The handler reads how it ended, or not.
 */
static void
kill_domain(int i)
{
	CHECK(i == A && lost && (is_held() || is_stalled()));
	killed++;
	end_record(record_of(A, LAUNCH_SOURCE), LAUNCH_REASON_MACHINE_ENDED);
	set_domain(A, LAUNCH_CRASHED, LAUNCH_CAUSE_KILLED);
	if (dice(2) == 0)
		pod_ends(A);
}

static void
listen_on(struct place *p, int side, bool on)
{
	p->listens[side] = on;
	p->listener[side] = on ? TEST_UID : "";
}

static void
recover(struct place *p)
{
	struct launch_record *to = record_of(B, LAUNCH_TARGET);

	listen_on(p, 0, true);
	if (!places[B].listens[1] || !is_alive(B))
		return;
	p->node.status.migration->reason = LAUNCH_REASON_NONE;
	to->reason = LAUNCH_REASON_NONE;
	set_domain(A, LAUNCH_PAUSED, LAUNCH_CAUSE_POST_COPY);
	set_domain(B, LAUNCH_RUNNING, LAUNCH_CAUSE_POST_COPY);
}

static bool
needs_proxy(enum step step)
{
	static const bool needs[STEP_COUNT] = {
		[STEP_LISTEN_SOURCE] = true, [STEP_LISTEN_TARGET] = true,
		[STEP_STOP_SOURCE] = true,   [STEP_STOP_TARGET] = true,
		[STEP_BLAME] = true,
	};

	return needs[step];
}

static void
do_step(int i, enum step step)
{
	struct place *p = &places[i];

	CHECK(!p->cut || !needs_proxy(step));
	switch ((int)step) {
	case STEP_PREPARE:
		prepare(p);
		break;
	case STEP_LISTEN_SOURCE:
	case STEP_LISTEN_TARGET:
		listen_on(p, step == STEP_LISTEN_TARGET, true);
		break;
	case STEP_STOP_SOURCE:
	case STEP_STOP_TARGET:
		listen_on(p, step == STEP_STOP_TARGET, false);
		break;
	case STEP_MIGRATE:
		/* Claimed, and not against anybody's will; see claim(). */
		CHECK(state_has("startTimestamp"));
		migrate(p);
		break;
	case STEP_CANCEL:
		cancel(p);
		break;
	case STEP_RECOVER:
		recover(p);
		break;
	case STEP_FINALIZE:
		p->node.facts.finalized = TEST_UID;
		break;
	case STEP_BLAME:
		p->node.facts.blame_uid = TEST_UID;
		break;
	case STEP_SWEEP:
		p->node.facts.swept = TEST_UID;
		break;
	case STEP_NETWORK:
		p->node.facts.network_us = now_us;
		break;
	case STEP_CLEANUP:
		CHECK(!runs_on(i));
		if (p->node.status.state == LAUNCH_NO_DOMAIN)
			pod_ends(i);
		break;
	case STEP_KILL:
		kill_domain(i);
		break;
	default:
		/* Nobody has asked for an end of the machine. */
		fail_msg("run %u: %s", run, step_name(step));
	}
}

/* What a patch does to the machine. */
static void
check_write(const json_t *before)
{
	bool begins = !js_at(before, "status.migrationState.startTimestamp") &&
		      state_has("startTimestamp");
	bool over =
		js_bool_at(before, "status.migrationState.completed", false);
	bool moves = !str_equal(js_str_at(before, "status.nodeName"),
				js_str_at(live, "status.nodeName"));

	if (begins && !state_bool("failed"))
		CHECK(!js_bool_at(
			before, "status.migrationState.abortRequested", false));
	/* Who takes a machine over has it, and nobody has given it up. */
	if (moves)
		CHECK(!over && (runs_on(B) || lost));
	/* One end. */
	if (over)
		CHECK(js_bool_at(before, "status.migrationState.failed",
				 false) == state_bool("failed"));
	/* The phase is only for the end of the machine. */
	if (!str_equal(js_str_at(live, "status.phase"), "Running"))
		CHECK(lost);
}

/* True when the object is another one now. */
static bool
write_wishes(struct place *p, const struct decision *d)
{
	AUTO(js_unref) json_t *patch = wishes_patch(&d->wishes, p->node.object);
	AUTO(js_unref) json_t *before = NULL;
	AUTO(status_done) struct status st = STATUS_INIT;
	json_t *after;

	if (patch == NULL)
		return false;
	after = patch_json(live, patch, &st);
	if (after == NULL) {
		conflicts++;
		testnode_see(&p->node, live);
		return true;
	}
	before = json_deep_copy(live);
	store(after);
	check_write(before);
	testnode_see(&p->node, live);
	return true;
}

static void
look(int i)
{
	struct place *p = &places[i];
	struct facts *f = &p->node.facts;
	struct decision d;

	f->now_us = now_us;
	f->proxy_up = !p->cut;
	f->source.uid = p->cut ? "" : p->listener[0];
	f->target.uid = p->cut ? "" : p->listener[1];
	decide(f, &d);
	if (!write_wishes(p, &d) && d.step != STEP_NONE)
		do_step(i, d.step);
	decision_done(&d);
}

/* Nobody at the source does. What has not begun ends by a deadline. */
static void
say_source_is_gone(void)
{
	char text[TIME_TEXT_SIZE];

	if (!state_has("startTimestamp")) {
		set_state("failed", json_true());
		set_state("completed", json_true());
	} else if (!state_has("endTimestamp")) {
		set_state("endTimestamp", json_string(time_text(now_us, text)));
	}
}

/* Its pod has ended or is gone, and it is not on its way. */
static void
end_machine(void)
{
	json_t *object;

	CHECK(lost);
	if (!str_equal(js_str_at(live, "status.phase"), "Running"))
		return;
	object = json_deep_copy(live);
	testfacts_set(object, "status", "phase", json_string("Failed"));
	store(object);
}

/* The controller, by what it reads from the server. */
static void
control(void)
{
	bool switched = state_has("targetNodeDomainReadyTimestamp") ||
			state_has("endTimestamp") ||
			str_equal(js_str_at(live, "status.migrationState.mode"),
				  "PostCopy");

	if (!is_over() &&
	    (!is_alive(B) || (state_bool("abortRequested") && !switched &&
			      !state_has("startTimestamp")))) {
		set_state("failed", json_true());
		set_state("completed", json_true());
	}
	if (!is_over() && places[A].node.facts.pod == NULL)
		say_source_is_gone();
	if (!is_over())
		return;
	if (!is_alive(home()))
		end_machine();
	if (state_bool("failed") && home() == A && is_alive(B)) {
		/* The pod that the machine is in is never deleted. */
		CHECK(lost || runs_on(A) || !runs_on(B));
		if (runs_on(B))
			lost = true;
		launcher_dies(B);
	} else if (!state_bool("failed") && is_alive(A)) {
		CHECK(!runs_on(A) || is_held());
		pod_ends(A);
	}
}

/* By force, or with its node: there is no pod that could be seen to end. */
static void
source_is_removed(void)
{
	launcher_dies(A);
	places[A].node.facts.pod = NULL;
	removed++;
}

/* What it has, for whom is not known. */
static void
ask_proxy(struct place *p)
{
	for (int side = 0; side < 2; side++)
		p->listener[side] = p->listens[side] ? "?" : "";
}

static void
reach_proxy(struct place *p)
{
	if (!p->cut)
		return;
	cuts++;
	p->cut = false;
	for (int side = 0; side < 2; side++) {
		if (!p->listens[side])
			p->listener[side] = "";
		else if (p->listener[side][0] == '\0')
			p->listener[side] = "?";
	}
}

/* What happens to those who work. */
static void
trouble(void)
{
	int i = (int)dice(NODES);
	struct place *p = &places[i];

	switch (dice(12)) {
	case 0: /* the handler is restarted */
		ask_proxy(p);
		p->node.facts.finalized = p->node.facts.swept = "";
		p->node.facts.blame_uid = "";
		testnode_see(&p->node, live);
		break;
	case 1:
		p->silent = !p->silent;
		break;
	case 2: /* its ferry-proxy is killed */
		if (dice(3) == 0) {
			listen_on(p, 0, false);
			listen_on(p, 1, false);
		}
		break;
	case 3:
		if (dice(is_in_halves() ? 2 : 8) == 0 && is_alive(i))
			launcher_dies(i);
		break;
	case 4:
		if (dice(6) == 0 && !is_over()) {
			canceled++;
			set_state("abortRequested", json_true());
		}
		break;
	case 5: /* a launcher whose machine has left ends */
		if (is_alive(A) &&
		    places[A].node.status.cause == LAUNCH_CAUSE_MIGRATED)
			pod_ends(A);
		break;
	case 6:
		p->cut = true;
		break;
	case 9:
		if (dice(40) == 0 && is_alive(A))
			source_is_removed();
		break;
	case 7:
	case 8:
		reach_proxy(p);
		break;
	default:
		break;
	}
}

static void
check_always(void)
{
	bool twice = places[A].node.status.state == LAUNCH_RUNNING &&
		     places[B].node.status.state == LAUNCH_RUNNING;

	CHECK(!twice || !is_alive(A) || !is_alive(B));
	CHECK(lost || runs_on(A) || runs_on(B));
}

static void
begin(void)
{
	static char migration[] = TEST_UID;

	lost = false;
	now_us = TEST_NOW;
	store(testfacts_machine("Running", true));
	for (int i = 0; i < NODES; i++) {
		struct place *p = &places[i];

		*p = (struct place){ .listener = { "", "" } };
		testnode_init(&p->node, i == A ? "a" : "b");
		testnode_see(&p->node, live);
	}
	set_domain(A, LAUNCH_RUNNING, LAUNCH_CAUSE_BOOTED);
	places[B].node.pod.migration_uid = migration;
}

static void
play(void)
{
	for (unsigned step = 0; step < STEPS; step++) {
		int i = (int)dice(NODES);

		now_us += dice(3) * SECOND;
		if (dice(2) == 0)
			testnode_see(&places[i].node, live);
		if (!places[i].silent)
			look(i);
		if (dice(3) == 0)
			transfer();
		if (dice(3) == 0)
			control();
		trouble();
		check_always();
	}
}

static bool
has_label(void)
{
	return json_object_get(js_obj_at(live, "metadata.labels"),
			       LABEL_MIGRATION_TARGET_NODE) != NULL;
}

static bool
runs_at_home(void)
{
	return is_alive(home()) &&
	       places[home()].node.status.state == LAUNCH_RUNNING;
}

/* Everybody can know that the machine is no more. */
static bool
has_ended(void)
{
	return str_equal(js_str_at(live, "status.phase"), "Failed");
}

static bool
is_all_done(void)
{
	for (int i = 0; i < NODES; i++) {
		if (places[i].listens[0] || places[i].listens[1])
			return false;
	}
	return is_over() && !has_label() && !is_held() && !is_stalled() &&
	       (runs_at_home() || has_ended());
}

/* Left alone, everything comes to its end. */
static void
drain(void)
{
	for (unsigned step = 0; step < DRAIN; step++) {
		now_us += 2 * SECOND;
		for (int i = 0; i < NODES; i++) {
			places[i].silent = false;
			reach_proxy(&places[i]);
			testnode_see(&places[i].node, live);
			look(i);
		}
		transfer();
		control();
		check_always();
		if (is_all_done())
			break;
	}
}

static void
check_end(void)
{
	CHECK(is_over());
	CHECK(!has_label());
	for (int i = 0; i < NODES; i++)
		CHECK(!places[i].listens[0] && !places[i].listens[1]);
	CHECK(!is_held() && !is_stalled());
	/* A machine that is lost does not stand somewhere for ever. */
	CHECK(runs_at_home() || (lost && has_ended()));
	CHECK(lost || (home() == A) == state_bool("failed"));
	ended += !runs_at_home();
	arrived += !state_bool("failed");
	failed += state_bool("failed");
}

static void
test_whatever_happens_the_machine_is_kept_and_its_migration_ends(void **state)
{
	(void)state;
	for (run = 0; run < RUNS; run++) {
		seed = run;
		begin();
		play();
		drain();
		check_end();
		for (int i = 0; i < NODES; i++)
			testnode_done(&places[i].node);
	}
	json_decref(live);
	live = NULL;
	print_message("# %u arrived, %u failed, %u canceled, %u in post-copy, "
		      "%u unconfirmed, %u conflicts, %u times without a "
		      "proxy, %u ended, %u of them killed\n",
		      arrived, failed, canceled, post_copies, unconfirmed,
		      conflicts, cuts, ended, killed);
	/* It was worth it. */
	assert_true(arrived > RUNS / 10 && failed > RUNS / 10);
	assert_true(canceled > 0 && post_copies > 0 && conflicts > 0 &&
		    unconfirmed > 0 && cuts > RUNS && killed > 0 &&
		    removed > 0 && ended > killed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_whatever_happens_the_machine_is_kept_and_its_migration_ends),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
