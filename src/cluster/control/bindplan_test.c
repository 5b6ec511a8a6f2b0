/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/bindplan.h"

#include <string.h>

#include "base/test.h"
#include "cluster/control/testjson.h"
#include "cluster/control/view.h"

static int
setup(void **state)
{
	*state = view_new();
	return 0;
}

static int
teardown(void **state)
{
	view_free(*state);
	return 0;
}

/* A claim of 1Gi; more of its metadata, spec and status, each with a comma in
 * front. */
static struct claim *
add_claim(struct view *view, const char *metadata, const char *spec,
	  const char *phase)
{
	json_t *obj = testjson(
		"{'metadata':{'name':'c','namespace':'w','uid':'u1'%s},"
		"'spec':{'accessModes':['ReadWriteOnce'],'resources':"
		"{'requests':{'storage':'1Gi'}}%s},'status':{'phase':'%s'}}",
		metadata, spec, phase);
	struct claim *claim = view_set_claim(view, obj);

	json_decref(obj);
	return claim;
}

static void
add_volume(struct view *view, const char *name, const char *size,
	   const char *spec, const char *phase)
{
	json_t *obj = testjson(
		"{'metadata':{'name':'%s','uid':'%s','labels':{'l':'%s'}},"
		"'spec':{'accessModes':['ReadWriteOnce','ReadOnlyMany'],"
		"'capacity':{'storage':'%s'}%s},'status':{'phase':'%s'}}",
		name, name, name, size, spec, phase);

	(void)view_set_volume(view, obj);
	json_decref(obj);
}

static void
add_class(struct view *view, const char *provisioner, const char *mode)
{
	json_t *obj = testjson("{'metadata':{'name':'s'},'provisioner':'%s',"
			       "'volumeBindingMode':'%s'}",
			       provisioner, mode);

	view_set_class(view, obj);
	json_decref(obj);
}

static enum claim_step
step(struct view *view, const struct claim *claim, const char *volume)
{
	const struct volume *v;
	enum claim_step result = bindplan_claim(view, claim, &v);

	if (volume == NULL)
		assert_null(v);
	else
		assert_string_equal(v->name, volume);
	return result;
}

#define REF(uid) ",'claimRef':{'namespace':'w','name':'c','uid':'" uid "'}"
#define DONE ",'annotations':{'pv.kubernetes.io/bind-completed':'yes'}"

static void
test_the_smallest_that_is_enough_is_taken(void **state)
{
	struct view *view = *state;
	struct claim *claim = add_claim(view, "", "", "Pending");

	assert_int_equal(step(view, claim, NULL), CLAIM_NO_VOLUME);
	add_volume(view, "tiny", "1Mi", "", "Available");
	add_volume(view, "big", "9Gi", "", "Available");
	add_volume(view, "fit", "2Gi", "", "Available");
	add_volume(view, "new", "1Gi", "", "Pending");
	add_volume(view, "block", "1Gi", ",'volumeMode':'Block'", "Available");
	add_volume(view, "class", "1Gi", ",'storageClassName':'s'",
		   "Available");
	assert_int_equal(step(view, claim, "fit"), CLAIM_RESERVE);
}

static void
test_access_modes_and_labels_must_suit(void **state)
{
	struct view *view = *state;
	struct claim *claim;

	add_volume(view, "a", "1Gi", "", "Available");
	add_volume(view, "b", "2Gi", "", "Available");
	claim = add_claim(view, "", ",'selector':{'matchLabels':{'l':'b'}}",
			  "Pending");
	assert_int_equal(step(view, claim, "b"), CLAIM_RESERVE);
	claim = add_claim(view, "", ",'selector':{'matchLabels':{'l':'z'}}",
			  "Pending");
	assert_int_equal(step(view, claim, NULL), CLAIM_NO_VOLUME);
	claim->modes = ACCESS_RWX;
	assert_int_equal(step(view, claim, NULL), CLAIM_NO_VOLUME);
}

static void
test_one_step_follows_the_other_until_both_are_bound(void **state)
{
	struct view *view = *state;
	struct claim *claim = add_claim(view, "", "", "Pending");

	add_volume(view, "v", "1Gi", "", "Available");
	assert_int_equal(step(view, claim, "v"), CLAIM_RESERVE);
	add_volume(view, "v", "1Gi", REF("u1"), "Available");
	assert_int_equal(step(view, claim, "v"), CLAIM_NAME);
	assert_string_equal(bindplan_volume_phase(view, view_volume(view, "v")),
			    "Available");
	claim = add_claim(view, DONE, ",'volumeName':'v'", "Pending");
	assert_int_equal(step(view, claim, "v"), CLAIM_BOUND);
	assert_string_equal(bindplan_volume_phase(view, view_volume(view, "v")),
			    "Bound");
	claim = add_claim(view, DONE, ",'volumeName':'v'", "Bound");
	assert_int_equal(step(view, claim, "v"), CLAIM_NOTHING);
}

static void
test_a_volume_that_was_set_aside_is_taken_first(void **state)
{
	struct view *view = *state;
	struct claim *claim = add_claim(view, "", "", "Pending");

	add_volume(view, "a", "1Gi", "", "Available");
	add_volume(view, "z", "5Gi", REF(""), "Available");
	assert_int_equal(step(view, claim, "z"), CLAIM_RESERVE);
	/* One of the same name, long gone, had this one. */
	add_volume(view, "z", "5Gi", REF("u0"), "Released");
	assert_int_equal(step(view, claim, "a"), CLAIM_RESERVE);
}

static void
test_a_claim_may_name_its_volume(void **state)
{
	struct view *view = *state;
	struct claim *claim =
		add_claim(view, "", ",'volumeName':'v'", "Pending");

	assert_int_equal(step(view, claim, NULL), CLAIM_NOTHING);
	add_volume(view, "v", "1Gi", "", "Available");
	assert_int_equal(step(view, claim, "v"), CLAIM_RESERVE);
	add_volume(view, "v", "1Gi", REF("u9"), "Bound");
	assert_int_equal(step(view, claim, "v"), CLAIM_NOTHING);
}

static void
test_a_claim_without_its_volume_is_lost(void **state)
{
	struct view *view = *state;
	struct claim *claim =
		add_claim(view, DONE, ",'volumeName':'v'", "Bound");

	assert_int_equal(step(view, claim, NULL), CLAIM_LOST);
	add_volume(view, "v", "1Gi", REF("u9"), "Bound");
	assert_int_equal(step(view, claim, "v"), CLAIM_MISBOUND);
	claim = add_claim(view, DONE, ",'volumeName':'v'", "Lost");
	assert_int_equal(step(view, claim, "v"), CLAIM_NOTHING);
}

static void
test_a_volume_without_its_claim_is_released(void **state)
{
	struct view *view = *state;

	add_volume(view, "v", "1Gi", REF("u1"), "Bound");
	assert_string_equal(bindplan_volume_phase(view, view_volume(view, "v")),
			    "Released");
	(void)add_claim(view, DONE, ",'volumeName':'v'", "Bound");
	assert_string_equal(bindplan_volume_phase(view, view_volume(view, "v")),
			    "Bound");
	view_remove_claim(view, "w/c");
	assert_string_equal(bindplan_volume_phase(view, view_volume(view, "v")),
			    "Released");
	add_volume(view, "v", "1Gi", REF(""), "");
	assert_string_equal(bindplan_volume_phase(view, view_volume(view, "v")),
			    "Available");
}

#define OF_CLASS ",'storageClassName':'s'"

static void
test_classes_say_who_waits_for_whom(void **state)
{
	struct view *view = *state;
	struct claim *claim = add_claim(view, "", OF_CLASS, "Pending");

	assert_int_equal(step(view, claim, NULL), CLAIM_NO_CLASS);
	add_class(view, "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
	add_volume(view, "v", "1Gi", OF_CLASS, "Available");
	assert_int_equal(step(view, claim, NULL), CLAIM_WAITS);
	/* The scheduler has decided. */
	add_volume(view, "v", "1Gi", OF_CLASS REF("u1"), "Available");
	assert_int_equal(step(view, claim, "v"), CLAIM_NAME);
	view_remove_volume(view, "v");
	add_class(view, "example.com/disk", "Immediate");
	assert_int_equal(step(view, claim, NULL), CLAIM_PROVISION);
	add_class(view, "kubernetes.io/no-provisioner", "Immediate");
	assert_int_equal(step(view, claim, NULL), CLAIM_NO_VOLUME);
	add_volume(view, "v", "1Gi", OF_CLASS, "Available");
	assert_int_equal(step(view, claim, "v"), CLAIM_RESERVE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_smallest_that_is_enough_is_taken),
		TEST(test_access_modes_and_labels_must_suit),
		TEST(test_one_step_follows_the_other_until_both_are_bound),
		TEST(test_a_volume_that_was_set_aside_is_taken_first),
		TEST(test_a_claim_may_name_its_volume),
		TEST(test_a_claim_without_its_volume_is_lost),
		TEST(test_a_volume_without_its_claim_is_released),
		TEST(test_classes_say_who_waits_for_whom),
	};

	return cmocka_run_group_tests_name("bindplan", tests, NULL, NULL);
}
