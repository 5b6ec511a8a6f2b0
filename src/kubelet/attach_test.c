/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/attach.h"

#include <stdlib.h>

#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"

/* One more than ATTACH_MAX. */
#define EIGHT "a,a,a,a,a,a,a,a,"
#define TOO_MANY EIGHT EIGHT EIGHT EIGHT "a"

static json_t *
wanted(const char *annotation, struct err *err)
{
	AUTO(js_unref)
	json_t *pod = testjson(
		"{'metadata':{'name':'p','namespace':'n','annotations':{}}}");

	(void)json_object_set_new(js_obj_at(pod, "metadata.annotations"),
				  ATTACH_NETWORKS, json_string(annotation));
	return attach_wanted(pod, err);
}

static void
check(const char *annotation, const char *expected)
{
	struct err err;
	AUTO(js_unref) json_t *list = wanted(annotation, &err);
	AUTO(js_unref) json_t *other = testjson(expected);

	if (list == NULL)
		fail_msg("'%s': %s", annotation, err.text);
	if (!json_equal(list, other)) {
		AUTO(free_ptr) char *text = js_text(list);

		fail_msg("'%s' is %s", annotation, text);
	}
}

static void
test_both_forms_of_the_annotation_are_read(void **state)
{
	(void)state;
	check("a", "[{'name':'a','namespace':'n','ifname':'net1','mac':''}]");
	check("m/a@x , b",
	      "[{'name':'a','namespace':'m','ifname':'x','mac':''},"
	      "{'name':'b','namespace':'n','ifname':'net2','mac':''}]");
	check("[{\"name\":\"a\",\"interface\":\"pod0\","
	      "\"mac\":\"02:00:00:00:00:01\"}]",
	      "[{'name':'a','namespace':'n','ifname':'pod0',"
	      "'mac':'02:00:00:00:00:01'}]");
	check("", "[]");
}

static void
test_what_cannot_be_had_is_refused(void **state)
{
	static const char *const bad[] = {
		"a@eth0",
		"a@lo",
		"a@0123456789abcdef",
		"a@../x",
		"a@x,b@x",
		"../a",
		"a/../b",
		"[{\"name\":\"a\",\"mac\":\"02:00\"}]",
		"[{\"name\":\"a\",\"mac\":\"02:00:00:00:00:zz\"}]",
		"[{\"name\":\"\"}]",
		"[{",
		TOO_MANY,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err;
		AUTO(js_unref) json_t *list = wanted(bad[i], &err);

		if (list != NULL)
			fail_msg("'%s' was taken", bad[i]);
		assert_non_null(strstr(err.text, ATTACH_NETWORKS));
	}
}

#define RESULT                                                                \
	"{'cniVersion':'1.0.0','interfaces':["                                \
	"{'name':'br','mac':'02:00:00:00:00:09'},"                            \
	"{'name':'eth0','mac':'02:00:00:00:00:0a','sandbox':'/run/x'}],"      \
	"'ips':[{'address':'10.0.0.5/24','interface':1,'gateway':'10.0.0.1'}" \
	",{'address':'10.9.9.9/24','interface':0}],'dns':{}}"

static void
test_the_status_is_as_multus_writes_it(void **state)
{
	AUTO(js_unref)
	json_t *list = testjson(
		"[{'ifname':'eth0','network':'pods','default':true,"
		"'result':" RESULT "},"
		"{'ifname':'net1','network':'n/blue','default':false,'result':"
		"{'interfaces':[{'name':'net1','mac':'02:00:00:00:00:0b',"
		"'sandbox':'/run/x'}]}}]");
	AUTO(js_unref)
	json_t *expected = testjson(
		"[{'name':'pods','interface':'eth0','ips':['10.0.0.5'],"
		"'mac':'02:00:00:00:00:0a','default':true,'dns':{}},"
		"{'name':'n/blue','interface':'net1',"
		"'mac':'02:00:00:00:00:0b','dns':{}}]");
	char *text = attach_status(list);
	struct err err;
	AUTO(js_unref) json_t *status = js_parse(text, strlen(text), &err);

	(void)state;
	assert_int_equal(strncmp(text, "[\n    {\n        \"name\"", 21), 0);
	assert_true(json_equal(status, expected));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_forms_of_the_annotation_are_read),
		cmocka_unit_test(test_what_cannot_be_had_is_refused),
		cmocka_unit_test(test_the_status_is_as_multus_writes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
