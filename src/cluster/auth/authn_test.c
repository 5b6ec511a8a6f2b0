/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/authn.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/test.h"
#include "cluster/auth/testauth.h"
#include "tls/https.h"

static const struct tls_https_peer nobody = { .common_name = "" };

/* A directory with a token file in it. */
struct dir {
	char path[64];
	char file[96];
};

static int
set_up(void **state)
{
	static struct dir dir;

	(void)snprintf(dir.path, sizeof(dir.path), "/tmp/ferry-authn-XXXXXX");
	assert_non_null(mkdtemp(dir.path));
	(void)snprintf(dir.file, sizeof(dir.file), "%s/tokens", dir.path);
	*state = &dir;
	return 0;
}

static int
tear_down(void **state)
{
	struct dir *dir = *state;

	(void)unlink(dir->file);
	return rmdir(dir->path);
}

static void
write_tokens(struct dir *dir, const char *text)
{
	AUTO(close_fd) int fd = open(dir->path, O_PATH | O_DIRECTORY);
	struct err err;

	assert_int_equal(path_write_file_at(fd, "tokens", text, strlen(text),
					    0600, &err),
			 0);
}

/* The user's name and groups as "name: g1 g2", or "401". */
static const char *
who(struct authn *authn, const struct tls_https_peer *peer,
    const char *authorization)
{
	static char text[256];
	struct status st = STATUS_INIT;
	struct user *user = NULL;
	size_t len;

	if (authn_request(authn, peer, authorization, &user, &st) == -1) {
		assert_string_equal(st.message, "Unauthorized");
		(void)snprintf(text, sizeof(text), "%d", st.code);
		status_done(&st);
		return text;
	}
	len = (size_t)snprintf(text, sizeof(text), "%s:", user->name);
	for (size_t i = 0; i < user->n_groups; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %s",
					user->groups[i]);
	user_unref(user);
	return text;
}

static void
test_a_certificate_names_user_and_groups(void **state)
{
	const char *groups[] = { "dev", "ops" };
	const struct tls_https_peer anna = { .verified = true,
					     .common_name = "anna",
					     .organizations = groups,
					     .organization_count = 2 };
	const struct tls_https_peer nameless = { .verified = true,
						 .common_name = "",
						 .organizations = groups,
						 .organization_count = 2 };
	const struct tls_https_peer forged = { .verified = false,
					       .common_name = "anna" };
	struct err err;
	struct authn *authn = authn_new(NULL, NULL, &err);

	(void)state;
	assert_string_equal(who(authn, &anna, NULL),
			    "anna: dev ops system:authenticated");
	/* A certificate counts before a token, also before a wrong one. */
	assert_string_equal(who(authn, &anna, "Bearer wrong"),
			    "anna: dev ops system:authenticated");
	assert_string_equal(who(authn, &nameless, NULL), "401");
	assert_string_equal(who(authn, &forged, NULL), "401");
	assert_string_equal(who(authn, &nobody, NULL), "401");
	authn_free(authn);
}

static void
test_tokens_are_found_in_the_file(void **state)
{
	struct dir *dir = *state;
	struct authn *authn;
	struct err err;

	write_tokens(dir, "t1,anna,u-1,\"dev,ops\"\r\n"
			  "\n"
			  "t2,bob,u-2\n"
			  "\"t,3\",\"ca\"\"rl\",u-3,one\n");
	authn = authn_new(dir->file, NULL, &err);
	assert_non_null(authn);
	assert_string_equal(who(authn, &nobody, "Bearer t1"),
			    "anna: dev ops system:authenticated");
	assert_string_equal(who(authn, &nobody, "bearer t2"),
			    "bob: system:authenticated");
	assert_string_equal(who(authn, &nobody, "Bearer t,3"),
			    "ca\"rl: one system:authenticated");
	assert_string_equal(who(authn, &nobody, "Bearer t4"), "401");
	assert_string_equal(who(authn, &nobody, "Bearer"), "401");
	assert_string_equal(who(authn, &nobody, "Bearer "), "401");
	assert_string_equal(who(authn, &nobody, "Basic t1"), "401");
	assert_string_equal(who(authn, &nobody, "Bearert1"), "401");
	assert_string_equal(who(authn, &nobody, ""), "401");
	authn_free(authn);
}

static void
test_a_changed_file_is_read_again(void **state)
{
	struct dir *dir = *state;
	struct authn *authn;
	struct err err;

	write_tokens(dir, "t1,anna,u-1\n");
	authn = authn_new(dir->file, NULL, &err);
	assert_non_null(authn);
	write_tokens(dir, "t2,bob,u-2\n");
	assert_string_equal(who(authn, &nobody, "Bearer t1"), "401");
	assert_string_equal(who(authn, &nobody, "Bearer t2"),
			    "bob: system:authenticated");
	/* A mistake leaves things as they were. */
	write_tokens(dir, "t3,carl\n");
	assert_string_equal(who(authn, &nobody, "Bearer t2"),
			    "bob: system:authenticated");
	(void)unlink(dir->file);
	assert_string_equal(who(authn, &nobody, "Bearer t2"),
			    "bob: system:authenticated");
	write_tokens(dir, "t4,dora,u-4\n");
	assert_string_equal(who(authn, &nobody, "Bearer t2"), "401");
	assert_string_equal(who(authn, &nobody, "Bearer t4"),
			    "dora: system:authenticated");
	authn_free(authn);
}

static void
test_a_wrong_file_is_told(void **state)
{
	static const struct {
		const char *text;
		const char *wrong;
	} cases[] = {
		{ "t1,anna\n", "line 1: must have at least 3 columns (token, "
			       "user name, user uid), found 2" },
		{ "a,b,c\n,anna,u-1\n", "line 2: the token is empty" },
		{ "a,b,c\na,d,e\n", "line 2: the token is there already" },
		{ "a,\"b,c\n", "line 1: a quote is not closed" },
		{ "a,\"b\"c,d\n", "line 1: a quote is not closed" },
	};
	struct dir *dir = *state;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char expected[256];

		write_tokens(dir, cases[i].text);
		assert_null(authn_new(dir->file, NULL, &err));
		(void)snprintf(expected, sizeof(expected),
			       "token file '%s': %s", dir->file,
			       cases[i].wrong);
		assert_string_equal(err.text, expected);
	}
	(void)unlink(dir->file);
	assert_null(authn_new(dir->file, NULL, &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_a_certificate_names_user_and_groups),
		CASE(test_tokens_are_found_in_the_file),
		CASE(test_a_changed_file_is_read_again),
		CASE(test_a_wrong_file_is_told),
	};

	return cmocka_run_group_tests_name("authn", tests, NULL, NULL);
}
