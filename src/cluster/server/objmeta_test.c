/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/testjson.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/objmeta.h"
#include "meta/causes.h"
#include "meta/status.h"

/* A kind owns its texts. */
static char group[] = "kubevirt.io";
static char plural[] = "virtualmachines";
static char kind_name[] = "VirtualMachine";

static const struct kind namespaced = { .group = group,
					.plural = plural,
					.kind = kind_name,
					.namespaced = true,
					.has_generation = true };

static void
test_what_a_client_sends_for_the_server_is_replaced(void **state)
{
	struct status st = STATUS_INIT;
	json_t *object = testjson(
		"{\"metadata\":{\"name\":\"a\",\"uid\":\"mine\",\"generation\":"
		"7,\"creationTimestamp\":\"1999-01-01T00:00:00Z\","
		"\"deletionTimestamp\":\"1999-01-01T00:00:00Z\",\"selfLink\":"
		"\"/"
		"x\",\"managedFields\":[],\"labels\":{},\"finalizers\":[]}}");

	(void)state;
	assert_int_equal(objmeta_init(object, &namespaced, "w", &st), 0);
	assert_string_equal(objmeta_str(object, "name"), "a");
	assert_string_equal(objmeta_str(object, "namespace"), "w");
	assert_int_equal(strlen(objmeta_str(object, "uid")), 36);
	assert_string_not_equal(objmeta_str(object, "creationTimestamp"),
				"1999-01-01T00:00:00Z");
	assert_false(objmeta_deleting(object));
	assert_int_equal(json_integer_value(json_object_get(objmeta_get(object),
							    "generation")),
			 1);
	assert_null(json_object_get(objmeta_get(object), "selfLink"));
	assert_null(json_object_get(objmeta_get(object), "managedFields"));
	assert_null(json_object_get(objmeta_get(object), "labels"));
	assert_null(json_object_get(objmeta_get(object), "finalizers"));
	json_decref(object);
}

static void
test_makes_a_name_from_its_beginning(void **state)
{
	struct status st = STATUS_INIT;
	json_t *object = testjson("{\"metadata\":{\"generateName\":\"mig-\"}}");
	const char *name;

	(void)state;
	assert_int_equal(objmeta_init(object, &namespaced, "w", &st), 0);
	name = objmeta_str(object, "name");
	assert_int_equal(strlen(name), 9);
	assert_int_equal(strncmp(name, "mig-", 4), 0);
	json_decref(object);
}

static void
expect_refused(const char *text, int code, const char *message)
{
	struct status st = STATUS_INIT;
	json_t *object = testjson(text);

	assert_int_equal(objmeta_init(object, &namespaced, "w", &st), -1);
	assert_int_equal(st.code, code);
	assert_string_equal(st.message, message);
	status_done(&st);
	json_decref(object);
}

static void
test_refuses_another_namespace_and_a_version(void **state)
{
	(void)state;
	expect_refused("{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"}}",
		       400,
		       "the namespace of the provided object does not match "
		       "the namespace sent on the request");
	expect_refused("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":"
		       "\"3\"}}",
		       500,
		       "resourceVersion should not be set on objects to be "
		       "created");
}

static void
test_names_the_member_of_a_wrong_type(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} cases[] = {
		{ "{\"metadata\":{\"labels\":{\"a\":1}}}",
		  "VM in version \"v1\" cannot be handled as a VM: json: "
		  "cannot unmarshal number into Go struct field "
		  "ObjectMeta.metadata.labels of type string" },
		{ "{\"metadata\":{\"name\":true}}",
		  "VM in version \"v1\" cannot be handled as a VM: json: "
		  "cannot unmarshal bool into Go struct field "
		  "ObjectMeta.metadata.name of type string" },
		{ "{\"metadata\":[]}",
		  "VM in version \"v1\" cannot be handled as a VM: json: "
		  "cannot unmarshal array into Go struct field VM.metadata of "
		  "type v1.ObjectMeta" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct status st = STATUS_INIT;
		json_t *object = testjson(cases[i].text);

		assert_int_equal(objmeta_check_types(object, "VM", &st), -1);
		assert_int_equal(st.code, 400);
		assert_string_equal(st.message, cases[i].message);
		status_done(&st);
		json_decref(object);
	}
}

static void
test_an_update_keeps_what_is_the_servers(void **state)
{
	struct causes causes = CAUSES_INIT;
	json_t *old = testjson("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\","
			       "\"generation\":3,\"deletionTimestamp\":\"t\","
			       "\"resourceVersion\":\"9\",\"labels\":{\"x\":"
			       "\"y\"}}}");
	json_t *object =
		testjson("{\"metadata\":{\"name\":\"a\",\"generation\":"
			 "99,\"labels\":{\"x\":\"z\"}}}");

	(void)state;
	objmeta_carry_over(object, old, &causes);
	assert_int_equal(causes_count(&causes), 0);
	assert_string_equal(objmeta_str(object, "uid"), "u");
	assert_string_equal(objmeta_str(object, "resourceVersion"), "9");
	assert_true(objmeta_deleting(object));
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(objmeta_get(object), "labels"), "x")),
		"z");
	objmeta_bump_generation(object);
	assert_int_equal(json_integer_value(json_object_get(objmeta_get(object),
							    "generation")),
			 4);
	json_decref(old);
	json_decref(object);
}

static void
test_no_finalizer_comes_to_what_is_being_deleted(void **state)
{
	struct causes causes = CAUSES_INIT;
	json_t *old = testjson("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\","
			       "\"deletionTimestamp\":\"t\",\"finalizers\":["
			       "\"a.io/x\"]}}");
	json_t *object =
		testjson("{\"metadata\":{\"name\":\"a\",\"finalizers\":["
			 "\"a.io/x\",\"b.io/y\"]}}");
	char *text;

	(void)state;
	objmeta_carry_over(object, old, &causes);
	text = causes_text(&causes);
	assert_string_equal(text,
			    "metadata.finalizers: Forbidden: no new finalizers "
			    "can be added if the object is being deleted, "
			    "found new finalizers []string{\"b.io/y\"}");
	free(text);
	causes_done(&causes);
	json_decref(old);
	json_decref(object);
}

static void
test_finalizers_come_and_go_by_name(void **state)
{
	json_t *object = testjson("{}");

	(void)state;
	assert_true(objmeta_add_finalizer(object, "orphan"));
	assert_false(objmeta_add_finalizer(object, "orphan"));
	assert_int_equal(objmeta_finalizers(object), 1);
	assert_true(objmeta_remove_finalizer(object, "orphan"));
	assert_false(objmeta_remove_finalizer(object, "orphan"));
	assert_null(json_object_get(objmeta_get(object), "finalizers"));
	json_decref(object);
}

static void
test_checks_names_and_owners(void **state)
{
	struct causes causes = CAUSES_INIT;
	json_t *object = testjson(
		"{\"metadata\":{\"name\":\"Bad_Name\",\"namespace\":\"w\","
		"\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
		"\"name\":\"p\"}]}}");
	char *text;

	(void)state;
	objmeta_validate(object, &namespaced, &causes);
	text = causes_text(&causes);
	assert_non_null(strstr(text, "metadata.name: Invalid value: "
				     "\"Bad_Name\": a lowercase RFC 1123 "
				     "subdomain must consist of"));
	assert_non_null(strstr(text, "metadata.ownerReferences[0].uid: Invalid "
				     "value: \"\": must not be empty"));
	free(text);
	causes_done(&causes);
	json_decref(object);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_what_a_client_sends_for_the_server_is_replaced),
		cmocka_unit_test(test_makes_a_name_from_its_beginning),
		cmocka_unit_test(test_refuses_another_namespace_and_a_version),
		cmocka_unit_test(test_names_the_member_of_a_wrong_type),
		cmocka_unit_test(test_an_update_keeps_what_is_the_servers),
		cmocka_unit_test(
			test_no_finalizer_comes_to_what_is_being_deleted),
		cmocka_unit_test(test_finalizers_come_and_go_by_name),
		cmocka_unit_test(test_checks_names_and_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
