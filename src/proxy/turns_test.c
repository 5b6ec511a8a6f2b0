/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/turns.h"

#include "base/loop.h"
#include "base/test.h"

#define STREAMS (TURNS_AT_ONCE + 3)
#define FIRST_WAITING TURNS_AT_ONCE

struct place {
	struct loop *loop;
	struct turns *turns;
	struct turn turn[STREAMS];
	unsigned granted[STREAMS];
};

static void
count(void *arg)
{
	unsigned *granted = arg;

	(*granted)++;
}

static void
place_open(struct place *place)
{
	*place = (struct place){ .loop = loop_new() };
	place->turns = turns_new(place->loop);
	for (size_t i = 0; i < STREAMS; i++)
		turn_init(&place->turn[i], place->turns, count,
			  &place->granted[i]);
}

/* All ask; the first few get one. */
static void
all_take(struct place *place)
{
	for (size_t i = 0; i < STREAMS; i++)
		assert_int_equal(turn_take(&place->turn[i]), i < TURNS_AT_ONCE);
}

static void
place_close(struct place *place)
{
	for (size_t i = 0; i < STREAMS; i++)
		turn_give_back(&place->turn[i]);
	turns_free(place->turns);
	loop_free(place->loop);
}

static void
test_only_a_few_have_a_turn(void **state)
{
	struct place place;

	(void)state;
	place_open(&place);
	all_take(&place);
	/* To ask again changes nothing. */
	all_take(&place);
	for (size_t i = 0; i < STREAMS; i++) {
		assert_int_equal(turn_waits(&place.turn[i]),
				 i >= TURNS_AT_ONCE);
		assert_int_equal(place.granted[i], 0);
	}
	place_close(&place);
}

static void
test_a_turn_that_is_given_back_goes_to_who_waits_longest(void **state)
{
	struct place place;

	(void)state;
	place_open(&place);
	all_take(&place);
	turn_give_back(&place.turn[1]);
	assert_int_equal(place.granted[FIRST_WAITING], 1);
	assert_int_equal(place.granted[FIRST_WAITING + 1], 0);
	assert_true(turn_take(&place.turn[FIRST_WAITING]));

	/* Who does not wait any more gets none. */
	turn_give_back(&place.turn[FIRST_WAITING + 1]);
	turn_give_back(&place.turn[0]);
	assert_int_equal(place.granted[FIRST_WAITING + 1], 0);
	assert_int_equal(place.granted[FIRST_WAITING + 2], 1);

	/* To have none and to give it back is nothing. */
	turn_give_back(&place.turn[0]);
	place_close(&place);
}

static void
test_a_turn_is_used_up_by_bytes_if_somebody_waits(void **state)
{
	struct place place;
	struct turn *last = &place.turn[STREAMS - 1];

	(void)state;
	place_open(&place);
	assert_true(turn_take(last));
	turn_use(last, TURNS_BYTES);
	assert_true(turn_take(last)); /* it has kept it */
	turn_give_back(last);

	all_take(&place);
	turn_use(&place.turn[0], TURNS_BYTES - 1);
	assert_int_equal(place.granted[FIRST_WAITING], 0);
	turn_use(&place.turn[0], 1);
	assert_int_equal(place.granted[FIRST_WAITING], 1);
	/* It has to wait behind the others now. */
	assert_false(turn_take(&place.turn[0]));
	turn_give_back(&place.turn[1]);
	assert_int_equal(place.granted[FIRST_WAITING + 1], 1);
	/* Without a turn nothing is counted. */
	turn_use(&place.turn[1], TURNS_BYTES);
	place_close(&place);
}

static void
stop(void *arg)
{
	loop_stop(arg);
}

static void
test_a_turn_is_used_up_by_time_if_somebody_waits(void **state)
{
	struct loop_timer *end;
	struct place place;

	(void)state;
	place_open(&place);
	all_take(&place);
	/* Each timer fires when it is due, in order: the last is the test's. */
	end = loop_timer_new(place.loop, stop, place.loop);
	for (unsigned all = 0; all < STREAMS - TURNS_AT_ONCE;) {
		loop_timer_start(end, TURNS_MS * 1000U);
		loop_run(place.loop);
		all = 0;
		for (size_t i = FIRST_WAITING; i < STREAMS; i++)
			all += place.granted[i];
	}
	for (size_t i = 0; i < STREAMS; i++)
		assert_int_equal(place.granted[i], i >= TURNS_AT_ONCE);
	loop_timer_free(end);
	place_close(&place);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_a_few_have_a_turn),
		cmocka_unit_test(
			test_a_turn_that_is_given_back_goes_to_who_waits_longest),
		cmocka_unit_test(
			test_a_turn_is_used_up_by_bytes_if_somebody_waits),
		cmocka_unit_test(
			test_a_turn_is_used_up_by_time_if_somebody_waits),
	};

	return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
