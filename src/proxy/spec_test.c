/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/spec.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/test.h"
#include "rpc/fds.h"

#define TARGET "\"key\":\"k1\",\"peer\":\"node-a\""
#define SOURCE TARGET ",\"dir\":\"/run/x\",\"address\":\"192.0.2.1\""

static int
decode(enum side side, const char *text, struct spec *ret_spec, struct err *err)
{
	AUTO(js_unref) json_t *params = js_parse(text, strlen(text), err);

	assert_non_null(params);
	return spec_decode(side, params, NULL, ret_spec, err);
}

static void
test_a_target_is_decoded(void **state)
{
	struct spec spec;
	struct err err;

	(void)state;
	assert_int_equal(
		decode(SIDE_TARGET,
		       "{" TARGET
		       ",\"dir\":\"/run/x\",\"block\":true,\"plain\":true,"
		       "\"bandwidth\":1000,\"ports\":\"4000-4010\",\"bind\":"
		       "\"eth0\",\"controlSocket\":\"/run/libvirt/sock\"}",
		       &spec, &err),
		0);
	assert_string_equal(spec.peer, "spiffe://ferry.io/node/node-a");
	assert_string_equal(spec.control_dir.path, "/run/libvirt");
	assert_string_equal(spec.control_name, "sock");
	assert_string_equal(spec.bind, "eth0");
	assert_int_equal(spec.range.lo, 4000);
	assert_int_equal(spec.range.hi, 4010);
	assert_int_equal(spec.bandwidth, 1000);
	assert_true(spec.block && spec.plain);
	spec_done(&spec);
}

static void
test_a_source_is_decoded(void **state)
{
	char text[BINDADDR_TEXT_SIZE];
	struct spec spec;
	struct err err;

	(void)state;
	assert_int_equal(decode(SIDE_SOURCE,
				"{" SOURCE
				",\"ports\":{\"4000\":0,\"4001\":49152},"
				"\"owner\":{\"uid\":107}}",
				&spec, &err),
			 0);
	assert_string_equal(
		bindaddr_format_port(&spec.address[CHANNEL_DIRECT], text),
		"192.0.2.1:4001");
	assert_int_equal(spec.address[CHANNEL_BLOCK].len, 0);
	assert_int_equal(spec.owner.uid, 107);
	assert_int_equal(spec.owner.gid, ENDPOINT_KEEP_ID);
	spec_done(&spec);
}

/* What is wrong, and the word that must be in the error. */
static void
test_what_is_wrong_is_named(void **state)
{
	static const struct {
		enum side side;
		const char *params;
		const char *word;
	} cases[] = {
		{ SIDE_TARGET, "[]", "object" },
		{ SIDE_TARGET, "{}", "key" },
		{ SIDE_TARGET, "{\"key\":\"k1\"}", "peer" },
		{ SIDE_TARGET, "{" TARGET "}", "dir" },
		{ SIDE_TARGET, "{" TARGET ",\"dir\":\"x\"}", "absolute" },
		{ SIDE_TARGET, "{" TARGET ",\"dirFd\":0}", "dirFd" },
		{ SIDE_TARGET, "{" TARGET ",\"dir\":\"/x\",\"ports\":\"9-1\"}",
		  "9-1" },
		{ SIDE_TARGET,
		  "{" TARGET ",\"dir\":\"/x\",\"controlSocket\":\"rel\"}",
		  "controlSocket" },
		{ SIDE_TARGET, "{" TARGET ",\"dir\":\"/x\",\"owner\":{}}",
		  "owner" },
		{ SIDE_SOURCE, "{" SOURCE "}", "ports" },
		{ SIDE_SOURCE, "{" SOURCE ",\"ports\":{\"x\":0}}", "x" },
		{ SIDE_SOURCE, "{" SOURCE ",\"ports\":{\"1\":1}}", "1" },
		{ SIDE_SOURCE, "{" SOURCE ",\"ports\":{\"1\":\"0\"}}",
		  "channel" },
		{ SIDE_SOURCE, "{" SOURCE ",\"ports\":{\"1\":0,\"2\":0}}",
		  "twice" },
		{ SIDE_SOURCE,
		  "{" SOURCE ",\"ports\":{\"1\":0},\"owner\":{\"u\":1}}",
		  "owner" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct spec spec;
		struct err err;

		assert_int_equal(
			decode(cases[i].side, cases[i].params, &spec, &err),
			-1);
		assert_int_equal(err.kind, ERR_INVALID);
		if (strstr(err.text, cases[i].word) == NULL)
			fail_msg("'%s' does not name '%s'", err.text,
				 cases[i].word);
	}
}

static void
test_a_path_that_libvirt_could_not_use_is_refused(void **state)
{
	struct spec spec;
	struct err err;
	char text[512];

	(void)state;
	(void)snprintf(text, sizeof(text), "{%s,\"dir\":\"/%0100d\"}", TARGET,
		       7);
	assert_int_equal(decode(SIDE_TARGET, text, &spec, &err), -1);
}

static struct spec
open_spec(const char *params, const char *dir)
{
	struct spec spec;
	struct err err;

	assert_int_equal(decode(SIDE_TARGET, params, &spec, &err), 0);
	spec.dir.fd = open(dir, O_PATH | O_CLOEXEC);
	assert_true(spec.dir.fd >= 0);
	return spec;
}

static void
test_equality_is_about_the_directory_not_its_name(void **state)
{
	struct spec a = open_spec("{" TARGET ",\"dir\":\"/tmp\"}", "/tmp");
	struct spec b = open_spec("{" TARGET ",\"dir\":\"/x\"}", "/tmp");
	struct spec c = open_spec("{" TARGET ",\"dir\":\"/tmp\"}", "/usr");
	struct spec d = open_spec(
		"{" TARGET ",\"dir\":\"/tmp\",\"plain\":true}", "/tmp");

	(void)state;
	assert_true(spec_equal(&a, &b));
	assert_false(spec_equal(&a, &c));
	assert_false(spec_equal(&a, &d));
	spec_done(&a);
	spec_done(&b);
	spec_done(&c);
	spec_done(&d);
}

static void
test_passed_descriptors_are_taken(void **state)
{
	const char *text = "{" TARGET ",\"dirFd\":1}";
	AUTO(js_unref) json_t *params = NULL;
	struct rpc_fds fds = { .count = 2 };
	struct spec spec;
	struct err err;

	(void)state;
	params = js_parse(text, strlen(text), &err);
	fds.fd[0] = dup(0);
	fds.fd[1] = open("/tmp", O_PATH | O_CLOEXEC);
	assert_int_equal(spec_decode(SIDE_TARGET, params, &fds, &spec, &err),
			 0);
	assert_true(spec.dir.fd >= 0);
	assert_int_equal(fds.fd[1], -1);
	spec_done(&spec);
	rpc_fds_done(&fds);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_target_is_decoded),
		cmocka_unit_test(test_a_source_is_decoded),
		cmocka_unit_test(test_what_is_wrong_is_named),
		cmocka_unit_test(
			test_a_path_that_libvirt_could_not_use_is_refused),
		cmocka_unit_test(
			test_equality_is_about_the_directory_not_its_name),
		cmocka_unit_test(test_passed_descriptors_are_taken),
	};

	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
