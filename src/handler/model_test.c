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
#include "api/names.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/str.h"
#include "base/test.h"
#include "base/testjson.h"
#include "handler/testworld.h"
#include "meta/patch.h"
#include "meta/status.h"
#include "meta/time.h"

#define RUNS 1000
#define STEPS 120
#define DRAIN 600
#define SECOND INT64_C(1000000)

/* How often what is worth playing was played; see also testworld.h. */
static unsigned arrived, failed, canceled;
static unsigned conflicts, cuts, killed, ended, removed;

#define CHECK(what)                                         \
	do {                                                \
		if (!(what))                                \
			fail_msg("run %u: %s", run, #what); \
	} while (0)

/* Steps of a handler. */

static void
prepare(struct place *p)
{
	if (p->node.status.migration == NULL)
		testnode_record(&p->node, LAUNCH_TARGET)->watched = true;
}

static void
migrate(struct place *p)
{
	if (p->node.status.migration != NULL ||
	    p->node.status.state != LAUNCH_RUNNING)
		return;
	testnode_record(&p->node, LAUNCH_SOURCE)->start_us = now_us;
	p->node.status.migration->watched = watched;
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
		/* Where disks have gone on it would find others than it knows.
		 */
		CHECK(!shares || !there);
		r->abort = LAUNCH_ABORTING;
		end_record(r, LAUNCH_REASON_CONNECTION_LOST);
		set_domain(A, LAUNCH_RUNNING, LAUNCH_CAUSE_USER);
		return;
	}
	r->abort = r->mode == LAUNCH_POST_COPY ? LAUNCH_ABORT_FAILED
					       : LAUNCH_ABORTING;
}

/* Everybody can know that the machine is no more. */
static bool
has_ended(void)
{
	return str_equal(js_str_at(live, "status.phase"), "Failed");
}

/* What stands can never run again: what has run on elsewhere must not run from
 * here, and half of a machine cannot. The handler reads how it ended, or not.
 */
static void
kill_domain(int i)
{
	/* Nobody is left who could say that it has not run there. */
	if (i == A && is_held() && shares && !is_alive(B))
		lost = true;
	CHECK(lost);
	killed++;
	if (i == B) {
		/* The other half, when everybody knows that it is one. */
		CHECK(is_over() && has_ended());
		end_record(record_of(B, LAUNCH_TARGET),
			   LAUNCH_REASON_MACHINE_ENDED);
		set_domain(B, LAUNCH_CRASHED, LAUNCH_CAUSE_KILLED);
		return;
	}
	CHECK(is_held() || is_stalled());
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

	struct launch_record *from = p->node.status.migration;

	listen_on(p, 0, true);
	/* QEMU tries the way before. */
	if (!places[B].listens[1] || !is_alive(B))
		return;
	/* One that nobody listens for is lost. */
	CHECK(to->listening == from->breaks);
	mended += watched;
	from->mended = to->mended = from->breaks;
	from->reason = LAUNCH_REASON_NONE;
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
		if (dice(is_in_halves() ? 1 : 3) == 0) {
			listen_on(p, 0, false);
			listen_on(p, 1, false);
		}
		break;
	case 3:
		if (dice(is_in_halves() || is_held() ? 2 : 8) == 0 &&
		    is_alive(i))
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

	lost = there = false;
	shares = dice(2) == 0;
	watched = dice(2) == 0;
	now_us = TEST_NOW;
	store(testfacts_machine("Running", true));
	if (shares)
		testfacts_set(live, "spec", "volumes",
			      testjson("[{'name': 'data', "
				       "'persistentVolumeClaim': {'claimName': "
				       "'data'}}]"));
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
		      "proxy, %u taken up again, %u ended, %u of them killed\n",
		      arrived, failed, canceled, post_copies, unconfirmed,
		      conflicts, cuts, mended, ended, killed);
	/* It was worth it. */
	assert_true(arrived > RUNS / 10 && failed > RUNS / 10);
	assert_true(canceled > 0 && post_copies > 0 && conflicts > 0 &&
		    unconfirmed > 0 && mended > 0 && cuts > RUNS &&
		    killed > 0 && removed > 0 && ended > killed);
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
