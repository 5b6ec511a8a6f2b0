/* SPDX-License-Identifier: Apache-2.0 */
#include "base/prom.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test.h"

static const struct prom_bounds bounds = { 2, { 0.5, 1 } };

static void
test_buckets_are_written_as_sums(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(BUF_UNLIMITED);
	struct prom_histogram h = { 0 };

	(void)state;
	prom_observe(&h, &bounds, 0.5);
	prom_observe(&h, &bounds, 0.75);
	prom_observe(&h, &bounds, 7);
	assert_int_equal(
		prom_write_histogram(&buf, "h", "a=\"b\"", &bounds, &h), 0);
	assert_string_equal(buf.data, "h_bucket{a=\"b\",le=\"0.5\"} 1\n"
				      "h_bucket{a=\"b\",le=\"1\"} 2\n"
				      "h_bucket{a=\"b\",le=\"+Inf\"} 3\n"
				      "h_sum{a=\"b\"} 8.25\n"
				      "h_count{a=\"b\"} 3\n");
}

static void
test_a_histogram_without_labels_has_only_le(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(BUF_UNLIMITED);
	struct prom_histogram h = { 0 };

	(void)state;
	assert_int_equal(prom_write_histogram(&buf, "h", "", &bounds, &h), 0);
	assert_string_equal(buf.data, "h_bucket{le=\"0.5\"} 0\n"
				      "h_bucket{le=\"1\"} 0\n"
				      "h_bucket{le=\"+Inf\"} 0\n"
				      "h_sum 0\n"
				      "h_count 0\n");
}

static void
test_a_time_that_clocks_make_negative_is_none(void **state)
{
	struct prom_histogram h = { 0 };

	(void)state;
	prom_observe(&h, &bounds, -3);
	assert_int_equal(h.buckets[0], 1);
	assert_true(h.sum == 0);
}

static void
test_the_bounds_that_there_are_grow(void **state)
{
	const struct prom_bounds *all[] = { &prom_bounds_waits,
					    &prom_bounds_pauses };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_in_range(all[i]->count, 1, PROM_BUCKETS_MAX);
		for (size_t j = 1; j < all[i]->count; j++)
			assert_true(all[i]->list[j] > all[i]->list[j - 1]);
	}
}

static void
test_single_values_have_heads(void **state)
{
	static const struct prom_single list[] = {
		{ "a_total", "counter", "How many.", 3 },
		{ "b", "gauge", "How much.", 0.25 },
	};
	AUTO(buf_done) struct buf buf = BUF_INIT(BUF_UNLIMITED);

	(void)state;
	assert_int_equal(prom_write_singles(&buf, list, ARRAY_LEN(list)), 0);
	assert_string_equal(buf.data, "# HELP a_total How many.\n"
				      "# TYPE a_total counter\n"
				      "a_total 3\n"
				      "# HELP b How much.\n"
				      "# TYPE b gauge\n"
				      "b 0.25\n");
}

static void
test_a_full_buffer_is_told(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(10);
	struct prom_histogram h = { 0 };

	(void)state;
	assert_int_equal(prom_head(&buf, "name", "gauge", "help"), -1);
	assert_int_equal(prom_write_histogram(&buf, "h", "", &bounds, &h), -1);
	assert_int_equal(prom_value(&buf, "name_of_it", "", 1), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_are_written_as_sums),
		cmocka_unit_test(test_a_histogram_without_labels_has_only_le),
		cmocka_unit_test(test_a_time_that_clocks_make_negative_is_none),
		cmocka_unit_test(test_the_bounds_that_there_are_grow),
		cmocka_unit_test(test_single_values_have_heads),
		cmocka_unit_test(test_a_full_buffer_is_told),
	};

	return cmocka_run_group_tests_name("prom", tests, NULL, NULL);
}
