/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/cni.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/testjson.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "kubelet/testdir.h"

static void
put(const char *name, const char *text, mode_t mode)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", testdir, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

static void
test_a_single_plugin_becomes_a_list(void **state)
{
	AUTO(js_unref) json_t *config = testjson("{'type':'bridge'}");
	AUTO(js_unref) json_t *bad = testjson("{'type':'../x','name':'n'}");
	AUTO(js_unref) json_t *none = testjson("{'plugins':[]}");
	struct err err;
	AUTO(js_unref) json_t *list = cni_list(config, "blue", &err);

	(void)state;
	assert_string_equal(js_str_at(list, "name"), "blue");
	assert_string_equal(js_str_at(list, "cniVersion"), "1.0.0");
	assert_int_equal(json_array_size(js_arr_at(list, "plugins")), 1);
	assert_null(cni_list(bad, "x", &err));
	assert_string_equal(err.text, "'../x' cannot be a network plugin");
	assert_null(cni_list(none, "x", &err));
}

static void
test_the_first_file_by_name_is_the_pod_network(void **state)
{
	struct err err;
	json_t *list;

	(void)state;
	assert_null(cni_list_load(testdir, &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	put("20-b.conf", "{\"type\":\"b\",\"name\":\"second\"}", 0644);
	put("10-a.conflist",
	    "{\"name\":\"first\",\"plugins\":[{\"type\":\"a\"}]}", 0644);
	put("00-x.txt", "{", 0644);
	list = cni_list_load(testdir, &err);
	assert_string_equal(js_str_at(list, "name"), "first");
	js_unref(&list);
	list = cni_list_find(testdir, "second", &err);
	assert_string_equal(js_str_at(list, "name"), "second");
	js_unref(&list);
	assert_null(cni_list_find(testdir, "third", &err));
}

struct seen {
	struct loop *loop;
	bool failed;
	char text[256];
	json_t *result;
};

static void
on_done(const struct err *err, const json_t *result, void *arg)
{
	struct seen *seen = arg;

	seen->failed = err != NULL;
	if (err != NULL)
		(void)snprintf(seen->text, sizeof(seen->text), "%s", err->text);
	js_unref(&seen->result);
	seen->result = json_deep_copy(result);
	loop_stop(seen->loop);
}

static void
run(struct seen *seen, const char *verb, const json_t *list)
{
	(void)cni_start(&(struct cni_request){ .loop = seen->loop,
					       .verb = verb,
					       .bin_dir = testdir,
					       .list = list,
					       .container_id = "id",
					       .netns = "/run/ns",
					       .ifname = "net1",
					       .args = "A=1",
					       .mac = "02:00:00:00:00:01" },
			on_done, seen);
	loop_run(seen->loop);
}

static void
test_plugins_are_run_in_order_with_the_result_before(void **state)
{
	AUTO(js_unref)
	json_t *list = testjson(
		"{'cniVersion':'1.0.0','name':'n','plugins':["
		"{'type':'one','capabilities':{'mac':true}},{'type':'two'}]}");
	struct seen seen = { .loop = loop_new() };

	(void)state;
	put("one",
	    "#!/bin/sh\nread -r in\n"
	    "case $in in *'\"runtimeConfig\":{\"mac\":'*) ;; *) exit 9;; esac\n"
	    "printf '{\"by\":\"%s %s %s %s\"}' $CNI_COMMAND $CNI_NETNS "
	    "$CNI_IFNAME \"$CNI_ARGS\"",
	    0755);
	put("two",
	    "#!/bin/sh\nread -r in\ncase $in in\n"
	    "*'\"prevResult\":{\"by\":\"ADD /run/ns net1 "
	    "A=1;MAC=02:00:00:00:00:01\"}'*) echo '{\"last\":true}';;\n"
	    "*) echo '{\"msg\":\"no prevResult\"}'; exit 1;; esac\n",
	    0755);
	run(&seen, "ADD", list);
	if (seen.failed)
		fail_msg("%s", seen.text);
	assert_true(js_bool_at(seen.result, "last", false));
	js_unref(&seen.result);
	loop_free(seen.loop);
}

static void
test_a_plugin_that_fails_says_why(void **state)
{
	AUTO(js_unref)
	json_t *list = testjson("{'name':'n','plugins':[{'type':'bad'}]}");
	struct seen seen = { .loop = loop_new() };

	(void)state;
	put("bad",
	    "#!/bin/sh\necho '{\"code\":7,\"msg\":\"no bridge\","
	    "\"details\":\"br0\"}'; exit 1",
	    0755);
	run(&seen, "ADD", list);
	assert_true(seen.failed);
	assert_string_equal(seen.text,
			    "plugin type=\"bad\" name=\"n\" failed (ADD): "
			    "no bridge; br0");
	put("bad", "#!/bin/sh\nexit 0", 0755);
	run(&seen, "ADD", list);
	assert_true(seen.failed); /* no result */
	run(&seen, "DEL", list);
	assert_false(seen.failed);
	js_unref(&seen.result);
	loop_free(seen.loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_single_plugin_becomes_a_list),
		cmocka_unit_test(
			test_the_first_file_by_name_is_the_pod_network),
		cmocka_unit_test(
			test_plugins_are_run_in_order_with_the_result_before),
		cmocka_unit_test(test_a_plugin_that_fails_says_why),
	};

	return cmocka_run_group_tests(tests, testdir_make, testdir_remove);
}
