/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/evacuation/plan.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "controller/evacuation/testevacuation.h"

#define BOTH                                                   \
	"'workloadUpdateStrategy': {'workloadUpdateMethods': " \
	"['LiveMigrate', 'Evict'], 'batchEvictionSize': 2, "   \
	"'batchEvictionInterval': '60s'}, "
#define MIGRATE                                                \
	"'workloadUpdateStrategy': {'workloadUpdateMethods': " \
	"['LiveMigrate']}, "
#define EVICT "'workloadUpdateStrategy': {'workloadUpdateMethods': ['Evict']}, "

#define CANDIDATES 8

struct stage {
	struct kubevirt_config *config;
	struct vmi *movable, *stuck;
	struct plan_candidate candidates[CANDIDATES];
	struct plan_facts facts;
	enum plan_verdict verdicts[CANDIDATES];
	struct plan plan;
};

static void
open_stage(struct stage *s, const char *spec, const char *status)
{
	*s = (struct stage){
		.config = test_config(spec, status),
		.movable = test_vmi("", "",
				    "'phase': 'Running', " TEST_MIGRATABLE),
		.stuck = test_vmi("", "", "'phase': 'Running', "),
	};
	s->facts = (struct plan_facts){
		.now_us = TEST_NOW_US,
		.config = s->config,
		.candidates = s->candidates,
	};
}

static void
close_stage(struct stage *s)
{
	kubevirt_config_free(s->config);
	vmi_free(s->movable);
	vmi_free(s->stuck);
}

static void
add(struct stage *s, const struct vmi *vmi, size_t count)
{
	for (size_t i = 0; i < count; i++)
		s->candidates[s->facts.count++] = (struct plan_candidate){
			.vmi = vmi,
			.update = UPDATE_LAUNCHER,
		};
}

static size_t
count_of(struct stage *s, enum plan_verdict verdict)
{
	size_t count = 0;

	plan_make(&s->facts, s->verdicts, &s->plan);
	for (size_t i = 0; i < s->facts.count; i++)
		count += s->verdicts[i] == verdict;
	return count;
}

static void
test_methods_say_what_is_done(void **state)
{
	static const struct {
		const char *spec, *status;
		size_t migrates, evicts;
	} cases[] = {
		{ BOTH, "", 1, 1 },
		{ MIGRATE, "", 1, 0 },
		{ EVICT, "", 0, 2 },
		{ "", "", 0, 0 },
		{ NULL, "", 0, 0 },
		{ BOTH, "'phase': 'Deploying', ", 0, 0 },
		{ BOTH,
		  "'observedDeploymentID': 'a', 'targetDeploymentID': 'b', ", 0,
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stage s;

		open_stage(&s, cases[i].spec, cases[i].status);
		add(&s, s.movable, 1);
		add(&s, s.stuck, 1);
		assert_int_equal(count_of(&s, PLAN_MIGRATE), cases[i].migrates);
		assert_int_equal(count_of(&s, PLAN_EVICT), cases[i].evicts);
		assert_int_equal(s.plan.outdated, 2);
		close_stage(&s);
	}
}

static void
test_no_more_migrations_than_there_is_room_for(void **state)
{
	struct stage s;

	(void)state;
	open_stage(&s, MIGRATE, "");
	add(&s, s.movable, 7);
	assert_int_equal(count_of(&s, PLAN_MIGRATE), 5);
	assert_true(s.plan.unfinished);
	s.facts.running = 3;
	assert_int_equal(count_of(&s, PLAN_MIGRATE), 2);
	s.facts.running = 9;
	assert_int_equal(count_of(&s, PLAN_MIGRATE), 0);
	close_stage(&s);
}

static void
test_evictions_come_in_batches(void **state)
{
	struct stage s;

	(void)state;
	open_stage(&s, BOTH, "");
	add(&s, s.stuck, 5);
	assert_int_equal(count_of(&s, PLAN_EVICT), 2);
	assert_true(s.plan.evicts && s.plan.unfinished);
	s.facts.last_batch_us = TEST_NOW_US - 59 * INT64_C(1000000);
	assert_int_equal(count_of(&s, PLAN_EVICT), 0);
	assert_false(s.plan.evicts);
	assert_true(s.plan.unfinished);
	s.facts.last_batch_us = TEST_NOW_US - 60 * INT64_C(1000000);
	assert_int_equal(count_of(&s, PLAN_EVICT), 2);
	close_stage(&s);
}

static void
test_what_moves_already_is_left_alone(void **state)
{
	struct stage s;

	(void)state;
	open_stage(&s, BOTH, "");
	add(&s, s.movable, 2);
	s.candidates[0].has_migration = true;
	s.candidates[1].claimed = true;
	assert_int_equal(count_of(&s, PLAN_WAIT), 2);
	assert_int_equal(s.plan.outdated, 2);
	assert_false(s.plan.unfinished);
	close_stage(&s);
}

static void
test_a_migration_whose_reason_is_gone_is_aborted(void **state)
{
	struct stage s;
	AUTO(vmi_unref)
	struct vmi *arrived = test_vmi(
		"", "",
		"'phase': 'Running', 'migrationState': {'migrationUid': 'm', "
		"'targetNodeDomainReadyTimestamp': '1970-01-01T00:01:00Z'}, ");

	(void)state;
	open_stage(&s, BOTH, "");
	add(&s, s.movable, 1);
	s.candidates[0].has_migration = s.candidates[0].has_update = true;
	s.candidates[0].update = UPDATE_NONE;
	assert_int_equal(count_of(&s, PLAN_ABORT), 1);
	assert_int_equal(s.plan.outdated, 0);
	/* Once the guest is over there, it is over. */
	s.candidates[0].vmi = arrived;
	assert_int_equal(count_of(&s, PLAN_ABORT), 0);
	close_stage(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_methods_say_what_is_done),
		cmocka_unit_test(
			test_no_more_migrations_than_there_is_room_for),
		cmocka_unit_test(test_evictions_come_in_batches),
		cmocka_unit_test(test_what_moves_already_is_left_alone),
		cmocka_unit_test(
			test_a_migration_whose_reason_is_gone_is_aborted),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
