/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/worker.h"

#include <stdio.h>
#include <string.h>

#include "base/loop.h"
#include "base/test.h"

static struct loop *loop;
static struct worker *worker;
static char story[2048];
static bool hold;
static unsigned fail_times;

static void
work(const char *key, void *arg)
{
	size_t len = strlen(story);

	(void)arg;
	(void)snprintf(story + len, sizeof(story) - len, "%s ", key);
	if (hold)
		return;
	worker_end(worker, key, fail_times > 0);
	if (fail_times > 0)
		fail_times--;
}

static int
setup(void **state)
{
	struct worker_config config = { .parallel = 2,
					.work = work,
					.queue = { .pause_min_ms = 5 } };

	(void)state;
	loop = loop_new();
	config.loop = loop;
	worker = worker_new(&config);
	story[0] = '\0';
	hold = false;
	fail_times = 0;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	worker_free(worker);
	loop_free(loop);
	return 0;
}

static void
until(const char *expected)
{
	uint64_t start = loop_now_ms();

	while (strcmp(story, expected) != 0) {
		loop_poll(loop);
		if (loop_now_ms() - start > 10000)
			fail_msg("'%s' instead of '%s'", story, expected);
	}
}

static void
put(const char *key, const char *group, int priority)
{
	worker_put(worker, &(struct queue_add){ .key = key,
						.group = group,
						.priority = priority });
}

static void
test_work_begins_from_the_loop_by_priority_and_in_turns(void **state)
{
	(void)state;
	put("x1", "x", 0);
	put("x2", "x", 0);
	put("y1", "y", 0);
	put("first", "x", 10);
	worker_add(worker, "plain");
	assert_string_equal(story, "");
	until("first x1 y1 plain x2 ");
	assert_int_equal(queue_stats(worker_queue(worker))->taken, 5);
}

static void
test_no_more_than_allowed_are_worked_on_at_once(void **state)
{
	(void)state;
	hold = true;
	worker_add(worker, "a");
	worker_add(worker, "b");
	worker_add(worker, "c");
	until("a b ");
	for (int i = 0; i < 10; i++)
		loop_poll(loop);
	assert_string_equal(story, "a b ");
	worker_end(worker, "a", false);
	until("a b c ");
}

static void
test_what_fails_comes_again_and_what_is_delayed_waits(void **state)
{
	uint64_t start = loop_now_ms();

	(void)state;
	fail_times = 2;
	worker_add(worker, "a");
	until("a a a ");
	/* 5 and 10. */
	assert_true(loop_now_ms() - start >= 15);
	start = loop_now_ms();
	worker_add_after(worker, "b", 20);
	until("a a a b ");
	assert_true(loop_now_ms() - start >= 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_work_begins_from_the_loop_by_priority_and_in_turns),
		TEST(test_no_more_than_allowed_are_worked_on_at_once),
		TEST(test_what_fails_comes_again_and_what_is_delayed_waits),
	};

	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
