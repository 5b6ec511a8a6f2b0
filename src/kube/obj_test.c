/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/obj.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/test.h"
#include "kube/resource.h"

static const struct kube_resource vmis = { "kubevirt.io", "v1",
					   "virtualmachineinstances",
					   "VirtualMachineInstance" };

static void
test_what_is_missing_reads_as_nothing(void **state)
{
	AUTO(js_unref) json_t *o = json_object();

	(void)state;
	assert_string_equal(obj_name(o), "");
	assert_string_equal(obj_ns(o), "");
	assert_string_equal(obj_uid(NULL), "");
	assert_string_equal(obj_version(o), "");
	assert_false(obj_is_deleting(o));
	assert_true(obj_created_us(o) == 0);
	assert_null(obj_label(o, "a"));
	assert_null(obj_annotation(NULL, "a"));
	assert_null(obj_controller(o));
	assert_false(obj_has_finalizer(o, "f"));
	assert_false(obj_remove_finalizer(o, "f"));
	assert_false(obj_set_label(o, "a", NULL));
	assert_int_equal(json_object_size(o), 0);
}

static void
test_metadata_is_read(void **state)
{
	AUTO(js_unref)
	json_t *o =
		json_pack("{s:{s:s,s:s,s:s,s:s,s:s,s:s}}", "metadata", "name",
			  "n", "namespace", "w", "uid", "u", "resourceVersion",
			  "5", "creationTimestamp", "1970-01-01T00:00:02Z",
			  "deletionTimestamp", "1970-01-01T00:00:03Z");

	(void)state;
	assert_string_equal(obj_name(o), "n");
	assert_string_equal(obj_ns(o), "w");
	assert_string_equal(obj_uid(o), "u");
	assert_string_equal(obj_version(o), "5");
	assert_true(obj_created_us(o) == 2000000);
	assert_true(obj_is_deleting(o));
}

static void
test_labels_with_dots_can_be_set_and_removed(void **state)
{
	AUTO(js_unref) json_t *o = json_object();

	(void)state;
	assert_true(obj_set_label(o, "kubevirt.io/nodeName", "n1"));
	assert_false(obj_set_label(o, "kubevirt.io/nodeName", "n1"));
	assert_true(obj_set_label(o, "kubevirt.io/nodeName", "n2"));
	assert_true(obj_set_label(o, "empty", ""));
	assert_string_equal(obj_label(o, "kubevirt.io/nodeName"), "n2");
	assert_string_equal(obj_label(o, "empty"), "");
	assert_null(obj_annotation(o, "kubevirt.io/nodeName"));
	assert_true(obj_set_label(o, "kubevirt.io/nodeName", NULL));
	assert_null(obj_label(o, "kubevirt.io/nodeName"));
	assert_true(obj_set_annotation(o, "a/b", "x"));
	assert_string_equal(obj_annotation(o, "a/b"), "x");
}

static void
test_finalizers_are_there_once(void **state)
{
	AUTO(js_unref) json_t *o = json_object();

	(void)state;
	assert_true(obj_add_finalizer(o, "f"));
	assert_false(obj_add_finalizer(o, "f"));
	assert_true(obj_add_finalizer(o, "g"));
	assert_true(obj_has_finalizer(o, "f"));
	assert_true(obj_remove_finalizer(o, "f"));
	assert_false(obj_has_finalizer(o, "f"));
	assert_true(obj_has_finalizer(o, "g"));
	assert_false(obj_remove_finalizer(o, "f"));
}

static void
test_the_controller_is_one_of_the_owners(void **state)
{
	AUTO(js_unref)
	json_t *o =
		json_pack("{s:{s:[{s:s},o]}}", "metadata", "ownerReferences",
			  "uid", "friend", obj_owner_ref(&vmis, "vm1", "u1"));
	const json_t *ref = obj_controller(o);

	(void)state;
	assert_non_null(ref);
	assert_string_equal(js_str_at(ref, "apiVersion"), "kubevirt.io/v1");
	assert_string_equal(js_str_at(ref, "kind"), "VirtualMachineInstance");
	assert_string_equal(js_str_at(ref, "name"), "vm1");
	assert_true(js_bool_at(ref, "blockOwnerDeletion", false));
	assert_true(obj_is_controlled_by(o, "u1"));
	assert_false(obj_is_controlled_by(o, "friend"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_missing_reads_as_nothing),
		cmocka_unit_test(test_metadata_is_read),
		cmocka_unit_test(test_labels_with_dots_can_be_set_and_removed),
		cmocka_unit_test(test_finalizers_are_there_once),
		cmocka_unit_test(test_the_controller_is_one_of_the_owners),
	};

	js_init();
	return cmocka_run_group_tests_name("obj", tests, NULL, NULL);
}
