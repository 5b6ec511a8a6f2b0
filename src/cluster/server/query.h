/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_QUERY_H
#define CLUSTER_QUERY_H

/*
 * query - the options a request carries behind the question mark.
 *
 * The raw text is cut and decoded once; the typed options of each verb are
 * read from it with the real server's checks and texts. A repeated parameter
 * counts once, with its first value, except dryRun.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct status;

#define QUERY_MAX (64 * 1024) /* longer ones are refused */
#define QUERY_PARAMS_MAX 64

struct query {
	struct {
		const char *key;
		const char *value;
	} param[QUERY_PARAMS_MAX];
	size_t count;
	char *storage;
};

/* raw may be NULL. query_done() frees, also after a failure. */
int query_parse(const char *raw, struct query *ret, struct status *st);
void query_done(struct query *query);

/* NULL when it is not there. */
const char *query_get(const struct query *query, const char *key);

/* As Go's strconv.ParseBool, and "" (a bare key) is true. */
bool query_bool(const struct query *query, const char *key);

/*
 * Undoes percent-encoding into out, at least len + 1 bytes; -1 for a broken
 * escape or a NUL byte.
 */
int query_decode(const char *in, size_t len, char *out);

enum rv_match {
	RV_MATCH_UNSET,
	RV_MATCH_EXACT,
	RV_MATCH_NOT_OLDER,
};

struct list_options {
	const char *label_selector; /* "" when not given */
	const char *field_selector;
	const char *continue_;
	uint64_t limit; /* 0: none */
	bool has_rv;    /* resourceVersion is there and not "" */
	uint64_t rv;
	enum rv_match rv_match;
	bool watch;
	bool bookmarks;
	bool send_initial_events;
	bool has_send_initial_events; /* true or false was said */
	uint64_t timeout_s;           /* 0: not given */
};

int query_list_options(const struct query *query, bool watch,
		       struct list_options *ret, struct status *st);

enum field_validation {
	FIELD_VALIDATION_WARN, /* the default */
	FIELD_VALIDATION_IGNORE,
	FIELD_VALIDATION_STRICT,
};

struct write_options {
	bool dry_run;
	enum field_validation field_validation;
	const char *field_manager; /* "" when not given */
};

/* kind is the options' own name in messages: "CreateOptions", ... */
int query_write_options(const struct query *query, const char *kind,
			struct write_options *ret, struct status *st);

enum propagation {
	PROPAGATION_DEFAULT,
	PROPAGATION_BACKGROUND,
	PROPAGATION_FOREGROUND,
	PROPAGATION_ORPHAN,
};

struct delete_options {
	bool dry_run;
	enum propagation propagation;
	bool has_grace;
	int64_t grace_s;
	const char *uid; /* preconditions; NULL when not given */
	const char *rv;
};

/* From the body (DeleteOptions or NULL), the query filling the gaps. */
int query_delete_options(const struct query *query, const json_t *body,
			 struct delete_options *ret, struct status *st);

#endif
