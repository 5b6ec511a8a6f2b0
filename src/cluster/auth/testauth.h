/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_TESTAUTH_H
#define CLUSTER_AUTH_TESTAUTH_H

/*
 * testauth - a cluster's store with its default roles, and short ways to say
 * who wants what; for the tests of this directory.
 */

#include <stdbool.h>
#include <stddef.h>

#include "cluster/auth/authz.h"
#include "meta/status.h"

struct testauth {
	char dir[64];
	struct loop *loop;
	struct store *store;
	struct aggregation *aggregation;
	struct authz *authz;
};

/* For cmocka; the state is a struct testauth. The second comes with nothing in
 * the store. */
int testauth_set_up(void **state);
int testauth_set_up_empty(void **state);
int testauth_tear_down(void **state);

/* Stores each document of the YAML text, as the server would, and waits until
 * all is on disk and all who follow have seen it. */
void testauth_put(struct testauth *t, const char *yaml);
void testauth_remove(struct testauth *t, const char *kind, const char *ns,
		     const char *name);
/* Runs what the loop has to run, until nothing is written any more. */
void testauth_settle(struct testauth *t);

/* The stored object; a new reference, NULL when there is none. */
json_t *testauth_get(struct testauth *t, const char *kind, const char *ns,
		     const char *name);
const char *testauth_uid(struct testauth *t, const char *kind, const char *ns,
			 const char *name);

/* "name" or "name group1 group2", and system:authenticated. */
struct user *testauth_user(const char *text);

/*
 * "verb resource[/sub][.group][:name] [in NS] [where SELECTOR]", or "verb
 * /path": each text is where the struct says. Freed with testauth_ask_done().
 */
struct testauth_ask {
	struct attributes attr;
	char *text;
};

void testauth_ask(struct testauth_ask *ret, const char *text);
void testauth_ask_done(struct testauth_ask *ask);

/* Whether that user may do that; the reason, if any, is printed when a test
 * fails. */
bool testauth_may(struct testauth *t, const char *who, const char *what);

/* One line of a table of who may do what. */
struct testauth_line {
	const char *who;
	const char *what;
	bool may;
};

/* Tries every line and fails with those that are not so. */
void testauth_try(struct testauth *t, const struct testauth_line *lines,
		  size_t count);

/* The message of st, which must be set, and then emptied. */
void testauth_assert_refused(struct status *st, int code, const char *message);

#endif
