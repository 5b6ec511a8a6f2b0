/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/netjob.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"

#define PATIENCE_US (60U * 1000 * 1000)

struct fixture {
	struct loop *loop;
	struct loop_timer *patience, *tick;
	struct network_pod pod;
	json_t *vmi;
	char uid[8];
	unsigned ticks, done;
	struct network_result *result;
	struct err err;
};

/* The thread: it stands until it is let go, as one does whose pod has stopped
 * what it waits for. */
static sem_t begun, go, ended;
static bool fails;
static char seen_uid[8], seen_name[8];
static int seen_fds;

static int
stand(const struct network_request *request, struct network_result **ret_result,
      struct err *err)
{
	(void)sem_post(&begun);
	(void)sem_wait(&go);
	(void)snprintf(seen_uid, sizeof(seen_uid), "%s", request->pod_uid);
	(void)snprintf(seen_name, sizeof(seen_name), "%s",
		       js_str_at(request->vmi, "metadata.name"));
	seen_fds = (fcntl(request->pod->netns_fd, F_GETFD) != -1) +
		   (fcntl(request->cache_fd, F_GETFD) != -1) +
		   (request->pod->root_fd == -1);
	(void)sem_post(&ended);
	if (fails)
		return err_set(err, ERR_TIMEOUT, "not ready");
	*ret_result = xmalloc0(sizeof(**ret_result));
	(*ret_result)->changed = true;
	return 0;
}

static void
on_done(void *arg, struct network_result *result, const struct err *err)
{
	struct fixture *f = arg;

	f->done++;
	f->result = result;
	if (err != NULL)
		f->err = *err;
	loop_stop(f->loop);
}

/* The loop goes round. */
static void
on_tick(void *arg)
{
	struct fixture *f = arg;

	f->ticks++;
	loop_stop(f->loop);
}

static void
too_late(void *arg)
{
	(void)arg;
	fail_msg("it has not come to pass");
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	log_init("test", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
	fails = false;
	f->loop = loop_new();
	f->patience = loop_timer_new(f->loop, too_late, f);
	f->tick = loop_timer_new(f->loop, on_tick, f);
	f->pod = NETWORK_POD_INIT;
	f->pod.netns_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void)snprintf(f->uid, sizeof(f->uid), "p1");
	f->vmi = json_pack("{s:{s:s}}", "metadata", "name", "vm1");
	loop_timer_start(f->patience, PATIENCE_US);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	network_result_free(f->result);
	network_pod_close(&f->pod);
	json_decref(f->vmi);
	loop_timer_free(f->patience);
	loop_timer_free(f->tick);
	loop_free(f->loop);
	free(f);
	return 0;
}

/* What the caller has is its own, and may go at once. */
static struct netjob *
start(struct fixture *f)
{
	int cache = open("/", O_PATH | O_CLOEXEC);
	struct netjob_config config = {
		.loop = f->loop,
		.request = { .pod = &f->pod,
			     .pod_uid = f->uid,
			     .vmi = f->vmi,
			     .cache_fd = cache },
		.setup = stand,
		.done = on_done,
		.arg = f,
	};
	struct err err = { .text = "" };
	struct netjob *job = netjob_start(&config, &err);

	assert_non_null(job);
	(void)sem_wait(&begun);
	close(cache);
	network_pod_close(&f->pod);
	memset(f->uid, 'x', sizeof(f->uid) - 1);
	json_decref(f->vmi);
	f->vmi = NULL;
	return job;
}

static void
test_the_loop_goes_on_while_a_pod_keeps_it_waiting(void **state)
{
	struct fixture *f = *state;

	(void)start(f);
	while (f->ticks < 3) {
		loop_timer_start(f->tick, 0);
		loop_run(f->loop);
	}
	assert_int_equal(f->done, 0);
	(void)sem_post(&go);
	(void)sem_wait(&ended);
	loop_run(f->loop);
	assert_int_equal(f->done, 1);
	assert_true(f->result != NULL && f->result->changed);
	assert_string_equal(seen_uid, "p1");
	assert_string_equal(seen_name, "vm1");
	assert_int_equal(seen_fds, 3);
}

static void
test_a_failure_is_told_with_its_words(void **state)
{
	struct fixture *f = *state;

	fails = true;
	(void)start(f);
	(void)sem_post(&go);
	(void)sem_wait(&ended);
	loop_run(f->loop);
	assert_int_equal(f->done, 1);
	assert_null(f->result);
	assert_int_equal(f->err.kind, ERR_TIMEOUT);
	assert_string_equal(f->err.text, "not ready");
}

static void
test_what_is_forgotten_tells_nobody(void **state)
{
	struct fixture *f = *state;

	/* One that is over, and on its way to the loop; and one that is not. */
	for (int late = 0; late < 2; late++) {
		struct netjob *job;

		network_pod_close(&f->pod);
		f->pod.netns_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		json_decref(f->vmi);
		f->vmi = json_object();
		job = start(f);
		if (late == 0)
			netjob_forget(job);
		(void)sem_post(&go);
		(void)sem_wait(&ended);
		if (late == 1)
			netjob_forget(job);
		loop_timer_start(f->tick, 0);
		loop_run(f->loop);
	}
	assert_int_equal(f->done, 0);
	netjob_forget(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_the_loop_goes_on_while_a_pod_keeps_it_waiting,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_failure_is_told_with_its_words, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_forgotten_tells_nobody, setup, teardown),
	};

	(void)sem_init(&begun, 0, 0);
	(void)sem_init(&go, 0, 0);
	(void)sem_init(&ended, 0, 0);
	return cmocka_run_group_tests_name("netjob", tests, NULL, NULL);
}
