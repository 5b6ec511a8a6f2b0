/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/volfiles.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "kubelet/testdir.h"

static void
assert_file(const char *name, const char *expected, mode_t mode)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", testdir, name);
	AUTO(free_ptr) char *text = NULL;
	struct stat st;
	struct err err;
	size_t len;

	assert_int_equal(path_read_file(path, 100, &text, &len, &err), 0);
	assert_string_equal(text, expected);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
}

static void
test_files_are_written_changed_and_removed(void **state)
{
	AUTO(js_unref)
	json_t *one = testjson("{'kind':'ConfigMap','data':{'a':'1','b':'2'},"
			       "'binaryData':{'c':'Mw=='}}");
	AUTO(js_unref)
	json_t *two = testjson("{'kind':'Secret','data':{'b':'eHg='}}");
	AUTO(js_unref)
	json_t *items =
		testjson("{'items':[{'key':'b','path':'d/e/f','mode':256}]}");
	struct volfiles files = { 0 };
	struct err err;
	AUTO(free_ptr) char *gone = xasprintf("%s/a", testdir);

	(void)state;
	assert_int_equal(volfiles_add_object(&files, one, NULL, 0644, &err), 0);
	assert_int_equal(volfiles_write(&files, testdir, (gid_t)-1, &err), 0);
	volfiles_done(&files);
	assert_file("a", "1", 0644);
	assert_file("c", "3", 0644);

	assert_int_equal(volfiles_add_object(&files, two, NULL, 0600, &err), 0);
	assert_int_equal(volfiles_add_object(&files, two, items, 0600, &err),
			 0);
	assert_int_equal(volfiles_write(&files, testdir, (gid_t)-1, &err), 0);
	volfiles_done(&files);
	assert_file("b", "xx", 0600);
	assert_file("d/e/f", "xx", 0400);
	assert_int_equal(access(gone, F_OK), -1);
}

static void
test_a_path_does_not_lead_out(void **state)
{
	static const char *const bad[] = { "",     "/a",  "..",     "a/..",
					   "a//b", "./a", "a/../b", "../a" };
	struct volfiles files = { 0 };
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(
			volfiles_add(&files, bad[i], "x", 1, 0644, &err), -1);
	assert_int_equal(volfiles_add(&files, "..a/b..", "x", 1, 0644, &err),
			 0);
	volfiles_done(&files);
}

static void
test_a_link_in_the_way_is_not_followed(void **state)
{
	struct volfiles files = { 0 };
	AUTO(free_ptr) char *link = xasprintf("%s/out", testdir);
	struct err err;

	(void)state;
	assert_int_equal(symlink("/tmp", link), 0);
	assert_int_equal(volfiles_add(&files, "out/x", "x", 1, 0644, &err), 0);
	assert_int_equal(volfiles_write(&files, testdir, (gid_t)-1, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	volfiles_done(&files);
	assert_int_equal(unlink(link), 0);
}

static void
test_a_key_that_is_named_must_be_there(void **state)
{
	AUTO(js_unref)
	json_t *object = testjson("{'kind':'ConfigMap','data':{}}");
	AUTO(js_unref)
	json_t *items = testjson("{'items':[{'key':'k','path':'p'}]}");
	struct volfiles files = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(volfiles_add_object(&files, object, items, 0644, &err),
			 -1);
	assert_string_equal(err.text, "references non-existent key: k");
	(void)json_object_set_new(items, "optional", json_true());
	assert_int_equal(volfiles_add_object(&files, object, items, 0644, &err),
			 0);
	assert_int_equal(files.count, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_are_written_changed_and_removed),
		cmocka_unit_test(test_a_path_does_not_lead_out),
		cmocka_unit_test(test_a_link_in_the_way_is_not_followed),
		cmocka_unit_test(test_a_key_that_is_named_must_be_there),
	};

	return cmocka_run_group_tests(tests, testdir_make, testdir_remove);
}
