/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the stories of a migration, and then each of them in every other way:
 * in any order, with the controller looking at some moments only, with a fact
 * that comes late or never, or is seen, not seen and seen again. In the end
 * each has an end.
 */
#include <string.h>

#include "base/array.h"
#include "controller/migration/teststory.h"

#define WAY_TO_START EVENT_PLACED, EVENT_READY, EVENT_ADDRESS, EVENT_STARTED

static const struct story stories[] = {
	{ "it goes well",
	  MIGRATION_SUCCEEDED,
	  true,
	  7,
	  { WAY_TO_START, EVENT_ARRIVED, EVENT_LEFT, EVENT_COMPLETED } },
	{ "in post-copy",
	  MIGRATION_SUCCEEDED,
	  true,
	  7,
	  { EVENT_READY, EVENT_ADDRESS, EVENT_STARTED, EVENT_POST_COPY,
	    EVENT_LEFT, EVENT_ARRIVED, EVENT_COMPLETED } },
	{ "after a quota",
	  MIGRATION_SUCCEEDED,
	  false,
	  6,
	  { EVENT_QUOTA_FULL, EVENT_QUOTA_FREE, EVENT_READY, EVENT_ADDRESS,
	    EVENT_STARTED, EVENT_COMPLETED } },
	{ "a node fails",
	  MIGRATION_FAILED,
	  true,
	  5,
	  { WAY_TO_START, EVENT_FAILED } },
	{ "canceled and aborted",
	  MIGRATION_FAILED,
	  true,
	  6,
	  { WAY_TO_START, EVENT_CANCEL, EVENT_FAILED } },
	{ "canceled too late",
	  MIGRATION_SUCCEEDED,
	  false,
	  6,
	  { EVENT_READY, EVENT_ADDRESS, EVENT_STARTED, EVENT_ARRIVED,
	    EVENT_CANCEL, EVENT_COMPLETED } },
	{ "no node fits", MIGRATION_FAILED, true, 1, { EVENT_UNSCHEDULABLE } },
	{ "no node fits for a while",
	  MIGRATION_SUCCEEDED,
	  false,
	  5,
	  { EVENT_UNSCHEDULABLE, EVENT_READY, EVENT_ADDRESS, EVENT_STARTED,
	    EVENT_COMPLETED } },
	{ "on the same node",
	  MIGRATION_FAILED,
	  false,
	  2,
	  { EVENT_SAME_NODE, EVENT_ADDRESS } },
	{ "the target ends",
	  MIGRATION_FAILED,
	  true,
	  5,
	  { WAY_TO_START, EVENT_TARGET_DOWN } },
	{ "the target is removed",
	  MIGRATION_FAILED,
	  true,
	  5,
	  { WAY_TO_START, EVENT_TARGET_REMOVED } },
	{ "the state is cleared",
	  MIGRATION_FAILED,
	  false,
	  5,
	  { WAY_TO_START, EVENT_CLEARED } },
	{ "the state is taken",
	  MIGRATION_FAILED,
	  false,
	  5,
	  { WAY_TO_START, EVENT_TAKEN } },
	{ "the source is removed",
	  MIGRATION_FAILED,
	  false,
	  5,
	  { WAY_TO_START, EVENT_SOURCE_REMOVED } },
	{ "the source is removed after all",
	  MIGRATION_SUCCEEDED,
	  false,
	  7,
	  { EVENT_READY, EVENT_ADDRESS, EVENT_STARTED, EVENT_LEFT,
	    EVENT_SOURCE_REMOVED, EVENT_ARRIVED, EVENT_COMPLETED } },
	{ "the machine ends",
	  MIGRATION_FAILED,
	  true,
	  5,
	  { WAY_TO_START, EVENT_MACHINE_ENDED } },
	{ "the machine is gone",
	  MIGRATION_FAILED,
	  true,
	  5,
	  { WAY_TO_START, EVENT_MACHINE_GONE } },
};

/* The ways. */

static void
test_each_story_has_its_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		story_set(&stories[i]);
		story_tell();
		story_expect(stories[i].end);
		TOLD(made == 1);
	}
}

static void
swap(size_t *a, size_t *b)
{
	size_t old = *a;

	*a = *b;
	*b = old;
}

/* The next order of places, in the order of the alphabet; false: that was the
 * last one. */
static bool
permute(size_t *places, size_t len)
{
	size_t i = len - 1, k = len - 1;

	while (i > 0 && places[i - 1] >= places[i])
		i--;
	if (i == 0)
		return false;
	while (places[k] <= places[i - 1])
		k--;
	swap(&places[i - 1], &places[k]);
	for (k = len - 1; i < k; i++, k--)
		swap(&places[i], &places[k]);
	return true;
}

static void
test_facts_come_in_any_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		size_t places[EVENTS_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7 };

		story_set(&stories[i]);
		do {
			for (size_t k = 0; k < telling.len; k++)
				telling.events[k] =
					stories[i].events[places[k]];
			story_tell();
			if (stories[i].always)
				story_expect(stories[i].end);
		} while (permute(places, telling.len));
	}
}

/* What was missed is no different from what came at once. */
static void
test_the_controller_looks_at_any_moments(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		story_set(&stories[i]);
		for (unsigned k = 0; k < 2U << telling.len; k++) {
			telling.looks = k;
			story_tell();
			if (stories[i].always)
				story_expect(stories[i].end);
		}
	}
}

/* After all deadlines, with each other fact before it or after it. */
static void
test_each_fact_comes_late(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		for (size_t k = 0; k < stories[i].len; k++) {
			for (size_t to = 0; to < stories[i].len; to++) {
				enum event event = stories[i].events[k];
				size_t n = 0;

				story_set(&stories[i]);
				for (size_t j = 0; j < telling.len; j++) {
					if (n == to)
						n++;
					if (j != k)
						telling.events[n++] =
							stories[i].events[j];
				}
				telling.events[to] = event;
				telling.late = to;
				story_tell();
			}
		}
	}
}

/* Each set of facts: what is not told does not come. */
static void
test_facts_never_come(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		for (unsigned k = 0; k < 1U << stories[i].len; k++) {
			story_set(&stories[i]);
			telling.len = 0;
			for (size_t j = 0; j < stories[i].len; j++) {
				if (k & 1U << j)
					telling.events[telling.len++] =
						stories[i].events[j];
			}
			telling.late = telling.len;
			story_tell();
		}
	}
}

/* Each set of objects, as old as can be, after each fact; what has been seen is
 * not there, and is there again. */
static void
test_facts_are_seen_and_not_seen_and_seen_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		story_set(&stories[i]);
		for (size_t at = 1; at <= telling.len; at++) {
			for (size_t by = 1; by <= at; by++) {
				for (unsigned k = 1; k < 16; k++) {
					telling.stale_at = at;
					telling.stale_by = by;
					telling.stale = k;
					story_tell();
					story_expect(stories[i].end);
				}
			}
		}
	}
}

/* Another one goes on from what there is. */
static void
test_the_controller_dies_before_any_request(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		unsigned lost = 0;

		do {
			story_set(&stories[i]);
			telling.lost = lost;
			story_tell();
			story_expect(stories[i].end);
		} while (lost++ < story_requests());
	}
}

/* Then a new one is found far on its way, also by people who cancel it. */
static void
test_phases_are_not_written_for_a_while(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		story_set(&stories[i]);
		for (size_t k = 1; k <= telling.len; k++) {
			telling.unwritten = k;
			for (size_t late = 0; late <= telling.len; late++) {
				telling.late = late;
				story_tell();
				if (late == telling.len)
					story_expect(stories[i].end);
			}
		}
	}
	print_message("# %llu tellings, %llu decisions\n", tellings, decisions);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_story_has_its_end),
		cmocka_unit_test(test_facts_come_in_any_order),
		cmocka_unit_test(test_the_controller_looks_at_any_moments),
		cmocka_unit_test(test_each_fact_comes_late),
		cmocka_unit_test(test_facts_never_come),
		cmocka_unit_test(
			test_facts_are_seen_and_not_seen_and_seen_again),
		cmocka_unit_test(test_the_controller_dies_before_any_request),
		cmocka_unit_test(test_phases_are_not_written_for_a_while),
	};

	return cmocka_run_group_tests_name("story", tests, NULL, NULL);
}
