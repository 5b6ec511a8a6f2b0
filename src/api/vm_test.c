/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vm.h"

#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "meta/time.h"

static struct vm *
vm_of(const char *text)
{
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct vm *vm = vm_decode(object, &err);

	assert_string_equal(err.text, "");
	return vm;
}

static void
test_all_that_is_used_is_decoded(void **state)
{
	AUTO(vm_unref)
	struct vm *vm = vm_of(
		"{'metadata': {'name': 'vm', 'finalizers': "
		"['kubevirt.io/virtualMachineControllerFinalize']}, 'spec': "
		"{'runStrategy': 'RerunOnFailure'}, 'status': {'created': "
		"true, 'ready': true, 'printableStatus': 'Running', "
		"'observedGeneration': 3, 'stateChangeRequests': [{'action': "
		"'Stop', 'uid': 'u'}, {'action': 'Start', 'data': {'paused': "
		"'true'}}], 'startFailure': {'consecutiveFailCount': 2, "
		"'lastFailedVMIUID': 'f', 'retryAfterTimestamp': "
		"'1970-01-01T00:00:02Z'}}}");

	(void)state;
	assert_int_equal(vm->strategy, RUN_RERUN_ON_FAILURE);
	assert_true(vm->has_finalizer && vm->created && vm->ready);
	assert_string_equal(vm->printable_status, "Running");
	assert_int_equal(vm->observed_generation, 3);
	assert_int_equal(vm->request_count, 2);
	assert_int_equal(vm->requests[0].action, VM_STOP);
	assert_string_equal(vm->requests[0].uid, "u");
	assert_int_equal(vm->requests[1].action, VM_START);
	assert_string_equal(js_str_at(vm->requests[1].data, "paused"), "true");
	assert_int_equal(vm->failed_count, 2);
	assert_string_equal(vm->failed_uid, "f");
	assert_int_equal(vm->retry_after_us, 2 * TIME_US_PER_SECOND);
}

static void
test_running_is_an_old_word_for_a_strategy(void **state)
{
	AUTO(vm_unref)
	struct vm *on = vm_of("{'metadata': {'name': 'v'}, 'spec': "
			      "{'running': true}}");
	AUTO(vm_unref)
	struct vm *off = vm_of("{'metadata': {'name': 'v'}, 'spec': "
			       "{'running': false}}");
	AUTO(vm_unref) struct vm *unset = vm_of("{'metadata': {'name': 'v'}}");

	(void)state;
	assert_int_equal(on->strategy, RUN_ALWAYS);
	assert_int_equal(off->strategy, RUN_HALTED);
	assert_int_equal(unset->strategy, RUN_UNSET);
}

static void
test_strategies_have_names(void **state)
{
	(void)state;
	for (enum run_strategy s = 0; s < RUN_STRATEGY_COUNT; s++)
		assert_int_equal(run_strategy_parse(run_strategy_name(s)), s);
	assert_int_equal(run_strategy_parse("always"), RUN_UNSET);
}

static void
test_requests_that_mean_nothing_are_refused(void **state)
{
	AUTO(js_unref)
	json_t *object = testjson("{'metadata': {'name': 'v'}, 'status': "
				  "{'stateChangeRequests': [{'action': "
				  "'Jump'}]}}");
	struct err err;

	(void)state;
	assert_null(vm_decode(object, &err));
	assert_string_equal(err.text, "status: stateChangeRequests[0]: unknown "
				      "action 'Jump'");
	for (int i = 0; i < VM_REQUESTS_MAX; i++)
		(void)json_array_append_new(
			js_arr_at(object, "status.stateChangeRequests"),
			json_object());
	assert_null(vm_decode(object, &err));
	assert_int_equal(err.kind, ERR_LIMIT);
}

static void
test_what_is_followed_may_differ_from_what_is_asked(void **state)
{
	AUTO(vm_unref)
	struct vm *vm =
		vm_of("{'metadata': {'name': 'vm', 'finalizers': ['orphan']}, "
		      "'spec': {'running': false}, 'status': {'runStrategy': "
		      "'Always'}}");

	(void)state;
	assert_int_equal(vm->strategy, RUN_HALTED);
	assert_int_equal(vm->followed, RUN_ALWAYS);
	assert_true(vm->says_running && vm->orphans);
	assert_false(vm->has_finalizer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_is_used_is_decoded),
		cmocka_unit_test(test_running_is_an_old_word_for_a_strategy),
		cmocka_unit_test(test_strategies_have_names),
		cmocka_unit_test(test_requests_that_mean_nothing_are_refused),
		cmocka_unit_test(
			test_what_is_followed_may_differ_from_what_is_asked),
	};

	return cmocka_run_group_tests_name("vm", tests, NULL, NULL);
}
