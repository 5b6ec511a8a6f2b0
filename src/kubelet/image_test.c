/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/image.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "kubelet/testdir.h"

#define DIGEST_A  \
	"sha256:" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define DIGEST_B  \
	"sha256:" \
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void
put(const char *escaped, const char *text)
{
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", testdir, escaped);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/%s/image.json", testdir,
		       escaped);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
}

static int
setup(void **state)
{
	if (testdir_make(state) == -1)
		return -1;
	put("r.example%2Fa%2Fb%3Av1",
	    "{\"digest\":\"" DIGEST_A "\",\"kind\":\"files\"}");
	put("host", "{\"digest\":\"" DIGEST_B "\",\"kind\":\"host\"}");
	put("c%3Alatest", "{\"digest\":\"" DIGEST_B "\",\"kind\":\"files\"}");
	put("bad-digest", "{\"digest\":\"sha256:x\",\"kind\":\"files\"}");
	put("bad-kind", "{\"digest\":\"" DIGEST_A "\",\"kind\":\"x\"}");
	put("bad-json", "{");
	return 0;
}

static void
found(const char *name, const char *ref)
{
	struct image image;
	struct err err;

	if (image_find(testdir, name, &image, &err) == -1)
		fail_msg("'%s': %s", name, err.text);
	assert_string_equal(image.ref, ref);
	image_done(&image);
}

static void
test_an_image_is_found_by_name_tag_and_digest(void **state)
{
	(void)state;
	found("r.example/a/b:v1", "r.example/a/b@" DIGEST_A);
	found("r.example/a/b:v1@" DIGEST_A, "r.example/a/b@" DIGEST_A);
	found("other/name@" DIGEST_A, "other/name@" DIGEST_A);
	found("host", "host@" DIGEST_B);
	found("c", "c@" DIGEST_B);
	found("c:latest", "c@" DIGEST_B);
}

static void
test_what_is_not_there_or_wrong_is_told_apart(void **state)
{
	static const struct {
		const char *name;
		enum err_kind kind;
	} cases[] = {
		{ "r.example/a/b:v2", ERR_NOT_FOUND },
		{ "r.example/a/b", ERR_NOT_FOUND },
		{ "c:v1", ERR_NOT_FOUND },
		{ "c@sha256:00", ERR_INVALID },
		{ "x@sha256:cccccccccccccccccccccccccccccccccccccccccccccccccc"
		  "cccccccccccccc",
		  ERR_NOT_FOUND },
		{ "bad-digest", ERR_INVALID },
		{ "bad-kind", ERR_INVALID },
		{ "bad-json", ERR_INVALID },
		{ "", ERR_INVALID },
		{ "../host", ERR_INVALID },
		{ "a b", ERR_INVALID },
	};
	struct image image;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(
			image_find(testdir, cases[i].name, &image, &err), -1);
		if (err.kind != cases[i].kind)
			fail_msg("'%s': %s", cases[i].name, err.text);
	}
}

static void
test_a_host_image_is_the_root_of_the_node(void **state)
{
	struct image image;
	struct err err;

	(void)state;
	assert_int_equal(image_find(testdir, "host", &image, &err), 0);
	assert_true(image.host);
	assert_string_equal(image.root, "/");
	image_done(&image);
	assert_int_equal(image_find(testdir, "c", &image, &err), 0);
	assert_non_null(strstr(image.root, "/c%3Alatest/rootfs"));
	image_done(&image);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_image_is_found_by_name_tag_and_digest),
		cmocka_unit_test(test_what_is_not_there_or_wrong_is_told_apart),
		cmocka_unit_test(test_a_host_image_is_the_root_of_the_node),
	};

	return cmocka_run_group_tests(tests, setup, testdir_remove);
}
