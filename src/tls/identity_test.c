/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/identity.h"

#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/test.h"

static void
test_names_and_uris_become_identities(void **state)
{
	static const char *const rows[][2] = {
		{ "node01", "spiffe://ferry.io/node/node01" },
		{ "Node-1.example_x",
		  "spiffe://ferry.io/node/Node-1.example_x" },
		{ "spiffe://other.org/a/b", "spiffe://other.org/a/b" },
		{ "urn+x://a", "urn+x://a" },
	};
	char buf[TLS_IDENTITY_SIZE];
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(
			tls_identity_uri(rows[i][0], buf, sizeof(buf), &err),
			0);
		assert_string_equal(buf, rows[i][1]);
	}
}

static void
test_anything_else_is_refused(void **state)
{
	static const char *const rows[] = {
		"",          ".hidden",   "a/b",         "a b",
		"-a",        "spiffe://", "://x",        "Spiffe://x",
		"1x://y",    "x:y",       "x://a b",     "x://a\n",
		"x://a\x80", "x://a?b",   "spiffe:/x/y", "x://\"",
	};
	char buf[TLS_IDENTITY_SIZE] = "untouched";
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (tls_identity_uri(rows[i], buf, sizeof(buf), &err) == 0)
			fail_msg("'%s' was taken", rows[i]);
		assert_int_equal(err.kind, ERR_INVALID);
	}
	assert_string_equal(buf, "untouched");
}

static void
test_what_does_not_fit_is_refused(void **state)
{
	char uri[TLS_IDENTITY_SIZE + 1];
	char buf[TLS_IDENTITY_SIZE];
	struct err err;

	(void)state;
	memset(uri, 'x', sizeof(uri) - 1);
	memcpy(uri, "x://", 4);
	uri[sizeof(uri) - 1] = '\0';
	assert_int_equal(tls_identity_uri(uri, buf, sizeof(buf), &err), -1);
	uri[sizeof(uri) - 2] = '\0';
	assert_int_equal(tls_identity_uri(uri, buf, sizeof(buf), &err), 0);
	assert_string_equal(buf, uri);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_and_uris_become_identities),
		cmocka_unit_test(test_anything_else_is_refused),
		cmocka_unit_test(test_what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
