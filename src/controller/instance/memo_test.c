/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/memo.h"

#include "base/cleanup.h"
#include "base/test.h"

static void
release(struct memos **memos)
{
	memos_free(*memos);
}

static void
test_a_write_is_waited_for_until_it_shows_or_takes_too_long(void **state)
{
	AUTO(release) struct memos *memos = memos_new();

	(void)state;
	assert_false(memos_is_behind(memos, "a", "1", 0));
	memos_wrote(memos, "a", "1", 0);
	assert_true(memos_is_behind(memos, "a", "1", 1));
	assert_false(memos_is_behind(memos, "b", "1", 1));
	assert_false(memos_is_behind(memos, "a", "2", 1));
	assert_false(memos_is_behind(memos, "a", "1", 1));
	memos_wrote(memos, "a", "1", 0);
	assert_false(memos_is_behind(memos, "a", "1", MEMO_PATIENCE_US));
}

static void
test_failures_are_tried_again_ever_later_until_one_succeeds(void **state)
{
	AUTO(release) struct memos *memos = memos_new();
	const struct memo_failure *failure;

	(void)state;
	assert_null(memos_failure(memos, "a"));
	failure = memos_failed(memos, "a", "Reason", "text", 0);
	assert_int_equal(failure->retry_us, MEMO_RETRY_MIN_US);
	failure = memos_failed(memos, "a", "Reason", "text", 0);
	assert_int_equal(failure->retry_us, 2 * MEMO_RETRY_MIN_US);
	for (int i = 0; i < 100; i++)
		failure = memos_failed(memos, "a", "Reason", "text", 0);
	assert_int_equal(failure->retry_us, MEMO_RETRY_MAX_US);
	assert_string_equal(memos_failure(memos, "a")->message, "text");
	memos_succeeded(memos, "a");
	assert_null(memos_failure(memos, "a"));
	memos_succeeded(memos, "b");
}

static void
test_what_is_gone_is_forgotten(void **state)
{
	AUTO(release) struct memos *memos = memos_new();

	(void)state;
	memos_next_attempt(memos, "a");
	memos_next_attempt(memos, "a");
	memos_wrote(memos, "a", "1", 0);
	assert_int_equal(memos_attempt(memos, "a"), 2);
	memos_forget(memos, "a");
	memos_forget(memos, "a");
	assert_int_equal(memos_attempt(memos, "a"), 0);
	assert_false(memos_is_behind(memos, "a", "1", 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_write_is_waited_for_until_it_shows_or_takes_too_long),
		cmocka_unit_test(
			test_failures_are_tried_again_ever_later_until_one_succeeds),
		cmocka_unit_test(test_what_is_gone_is_forgotten),
	};

	return cmocka_run_group_tests_name("memo", tests, NULL, NULL);
}
