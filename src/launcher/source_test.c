/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/source.h"

#include <semaphore.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/test.h"

#define GRACE_MS 20U
#define PATIENCE_US (60U * 1000 * 1000)

/* A migration whose thread stands where the test has put it, as one does whose
 * libvirtd hangs. */
struct fixture {
	struct loop *loop;
	struct loop_timer *patience;
	struct source *source;
	bool (*until)(const struct fixture *f);
	unsigned resumed;
};

static void resume(void *ctx);

/* What the thread is to do next, and that it has. */
static sem_t begun, go, done;
static struct flight *flight; /* the thread's */
static struct flight_news next;
static bool switches, switched, may_switch;

static void *
mover(void *arg)
{
	flight = arg;
	(void)sem_post(&begun);
	for (;;) {
		struct flight_news news;

		(void)sem_wait(&go);
		news = next;
		if (switches)
			may_switch = flight_switch(flight);
		else if (switched)
			flight_switched(flight, news.post_copy);
		flight_tell(flight, &news);
		(void)sem_post(&done);
		if (news.last)
			return NULL;
	}
}

static void
let_go(const struct flight_news *news)
{
	next = *news;
	(void)sem_post(&go);
	(void)sem_wait(&done);
}

static void
changed(void *ctx)
{
	struct fixture *f = ctx;

	/* The first news may come before the source is known. */
	if (f->source != NULL && f->until != NULL && f->until(f))
		loop_stop(f->loop);
}

static void
too_late(void *arg)
{
	(void)arg;
	fail_msg("it has not come to pass");
}

static void
wait_until(struct fixture *f, bool (*until)(const struct fixture *f))
{
	if (until(f))
		return;
	f->until = until;
	loop_timer_start(f->patience, PATIENCE_US);
	loop_run(f->loop);
	loop_timer_stop(f->patience);
	f->until = NULL;
}

static bool
is_over(const struct fixture *f)
{
	return source_over(f->source);
}

static bool
is_to_be_cut(const struct fixture *f)
{
	return source_record(f->source)->cut_streams;
}

static bool
is_in_post_copy(const struct fixture *f)
{
	return source_record(f->source)->mode == LAUNCH_POST_COPY;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct source_config config = {
		.uid = "m1",
		.watched = true,
		.mover = mover,
		.changed = changed,
		.resume = resume,
		.ctx = f,
	};

	log_init("test", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
	(void)sem_init(&begun, 0, 0);
	(void)sem_init(&go, 0, 0);
	(void)sem_init(&done, 0, 0);
	switches = switched = false;
	f->loop = loop_new();
	f->patience = loop_timer_new(f->loop, too_late, f);
	config.flight.loop = f->loop;
	config.flight.abort_grace_ms = GRACE_MS;
	config.flight.migration.domain = "d";
	config.flight.migration.control_uri = "c";
	config.flight.migration.memory_uri = "m";
	f->source = source_start(&config);
	(void)sem_wait(&begun);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	if (!is_over(f)) {
		let_go(&(struct flight_news){
			.last = true,
			.outcome = { .rc = -1,
				     .seen = true,
				     .look = { .state = VIRT_RUNNING } } });
		wait_until(f, is_over);
	}
	source_free(f->source);
	loop_timer_free(f->patience);
	loop_free(f->loop);
	(void)sem_destroy(&begun);
	(void)sem_destroy(&go);
	(void)sem_destroy(&done);
	free(f);
	return 0;
}

static void
test_an_abort_that_libvirt_does_not_answer_cuts_the_streams(void **state)
{
	struct fixture *f = *state;
	const struct launch_record *r = source_record(f->source);
	struct err err;

	assert_int_equal(source_abort(f->source, &err), 0);
	assert_int_equal(r->abort, LAUNCH_ABORTING);
	assert_false(r->cut_streams);
	wait_until(f, is_to_be_cut);
	assert_false(r->completed);
}

static void
test_an_abort_of_the_monitor_is_no_other(void **state)
{
	struct fixture *f = *state;

	let_go(&(struct flight_news){ .aborting =
					      LAUNCH_REASON_PROGRESS_TIMEOUT });
	assert_true(flight_abort(flight, LAUNCH_REASON_PROGRESS_TIMEOUT));
	wait_until(f, is_to_be_cut);
	assert_int_equal(source_record(f->source)->abort, LAUNCH_ABORTING);
}

static void
test_an_abort_comes_before_a_switch_to_post_copy(void **state)
{
	struct fixture *f = *state;
	struct err err;

	assert_int_equal(source_abort(f->source, &err), 0);
	switches = true;
	let_go(&(struct flight_news){ 0 });
	assert_false(may_switch);
	assert_true(flight_peek(flight).abort);
	assert_false(flight_peek(flight).switching);
}

/* What is asked for while libvirt switches has to wait for what comes of it. */
static void
test_an_abort_during_a_switch_comes_too_late_and_cuts_nothing(void **state)
{
	struct fixture *f = *state;
	const struct launch_record *r = source_record(f->source);
	struct err err;

	switches = true;
	let_go(&(struct flight_news){ 0 });
	assert_true(may_switch);
	assert_int_equal(source_abort(f->source, &err), 0);
	assert_int_equal(r->abort, LAUNCH_ABORTING);
	switches = false;
	switched = true;
	let_go(&(struct flight_news){ .post_copy = true });
	wait_until(f, is_in_post_copy);
	assert_int_equal(r->abort, LAUNCH_ABORT_FAILED);
	assert_false(flight_peek(flight).abort);
	assert_int_equal(source_abort(f->source, &err), -1);
	assert_int_equal(err.kind, ERR_CONFLICT);
	/* Broken, it is stalled, and has nothing to be cut for when it is taken
	 * up again. */
	switched = false;
	let_go(&(struct flight_news){
		.last = true,
		.outcome = { .rc = -1,
			     .seen = true,
			     .look = { .state = VIRT_PAUSED,
				       .why = VIRT_WHY_POST_COPY_FAILED } } });
	wait_until(f, is_over);
	assert_int_equal(r->reason, LAUNCH_REASON_POST_COPY_FAILED);
	assert_int_equal(source_recover(f->source, false, &err), 0);
	(void)sem_wait(&begun);
	assert_int_equal(r->reason, LAUNCH_REASON_NONE);
	assert_int_equal(r->abort, LAUNCH_ABORT_FAILED);
	assert_false(r->cut_streams);
	assert_true(flight_peek(flight).post_copy);
}

static void
test_an_abort_during_a_switch_that_fails_is_not_forgotten(void **state)
{
	struct fixture *f = *state;
	const struct launch_record *r = source_record(f->source);
	struct err err;

	switches = true;
	let_go(&(struct flight_news){ 0 });
	assert_int_equal(source_abort(f->source, &err), 0);
	switches = false;
	switched = true;
	let_go(&(struct flight_news){ .post_copy = false });
	assert_true(flight_peek(flight).abort);
	wait_until(f, is_to_be_cut);
	assert_int_equal(r->abort, LAUNCH_ABORTING);
	assert_int_equal(r->mode, LAUNCH_PRE_COPY);
}

static void
resume(void *ctx)
{
	struct fixture *f = ctx;

	f->resumed++;
}

static bool
is_resumed(const struct fixture *f)
{
	return f->resumed > 0;
}

/* By QEMU's own word, and only at a break. */
static void
test_a_break_is_counted_and_taken_up_by_qemu(void **state)
{
	struct fixture *f = *state;
	const struct launch_record *r = source_record(f->source);
	struct err err;

	assert_true(r->watched);
	assert_false(source_stream(f->source, QMP_STREAM_POST_COPY));
	assert_int_equal(r->breaks, 0);
	let_go(&(struct flight_news){
		.last = true,
		.outcome = { .rc = -1,
			     .seen = true,
			     .look = { .state = VIRT_PAUSED,
				       .why = VIRT_WHY_POST_COPY_FAILED } } });
	wait_until(f, is_over);
	/* libvirt has lost its connection, and QEMU has not: it goes on. */
	assert_int_equal(source_recover(f->source, true, &err), -1);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_true(source_stream(f->source, QMP_STREAM_PAUSED));
	assert_int_equal(r->breaks, 1);
	assert_int_equal(r->mended, 0);
	assert_int_equal(source_recover(f->source, true, &err), 0);
	(void)sem_wait(&begun);
	assert_true(flight->config.listening);
	assert_int_equal(flight_peek(flight).breaks, 1);
	assert_int_equal(flight_peek(flight).stream, QMP_STREAM_PAUSED);
	let_go(&(struct flight_news){ .resume = true });
	wait_until(f, is_resumed);
	(void)err_set(&err, ERR_REFUSED, "no");
	source_refused(f->source, &err);
	assert_true(flight_peek(flight).refused);
	assert_false(source_stream(f->source, QMP_STREAM_RECOVERS));
	assert_int_equal(r->mended, 0);
	assert_true(source_stream(f->source, QMP_STREAM_POST_COPY));
	assert_int_equal(r->mended, 1);
	assert_true(source_stream(f->source, QMP_STREAM_PAUSED));
	assert_int_equal(r->breaks, 2);
	assert_int_equal(flight_peek(flight).breaks, 2);
}

static bool
is_handed_over(const struct fixture *f)
{
	return source_record(f->source)->progress.percent == 99;
}

static void
test_how_much_the_guest_was_slowed_down_stays(void **state)
{
	struct fixture *f = *state;
	const struct launch_progress *p = &source_record(f->source)->progress;

	let_go(&(struct flight_news){
		.has_progress = true,
		.progress = { .percent = 98, .throttle_percent = 70 } });
	let_go(&(struct flight_news){ .has_progress = true,
				      .progress = { .percent = 99 } });
	wait_until(f, is_handed_over);
	assert_int_equal(p->throttle_percent, 70);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_an_abort_that_libvirt_does_not_answer_cuts_the_streams,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_an_abort_of_the_monitor_is_no_other, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_an_abort_comes_before_a_switch_to_post_copy, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_an_abort_during_a_switch_comes_too_late_and_cuts_nothing,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_an_abort_during_a_switch_that_fails_is_not_forgotten,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_break_is_counted_and_taken_up_by_qemu, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_how_much_the_guest_was_slowed_down_stays, setup,
			teardown),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
