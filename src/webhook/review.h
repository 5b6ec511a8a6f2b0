/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_REVIEW_H
#define WEBHOOK_REVIEW_H

/*
 * review - an AdmissionReview: what the API server asks, and the answer.
 *
 * Whoever reaches the port may send one, so nothing in it is believed to be of
 * the right type. Objects are as they came; checking them is for others.
 *
 * Threading: any thread, with values of its own.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct err;
struct status;

#define REVIEW_UID_MAX 253

enum review_operation {
	REVIEW_CREATE,
	REVIEW_UPDATE,
	REVIEW_DELETE,
	REVIEW_CONNECT,
	REVIEW_OPERATION_COUNT,
};

/* Texts and objects are those of root; a text that is missing is "". */
struct review {
	json_t *root;
	const char *uid;
	enum review_operation operation;
	const char *group, *resource, *subresource;
	const char *ns, *name;
	const char *user;
	const json_t *extra; /* of the user: name -> list; NULL for none */
	bool dry_run;
	json_t *object;     /* NULL for none */
	json_t *old_object; /* NULL for none */
};

/* On success review_done() frees it; on failure *ret is not touched. */
int review_decode(const char *text, size_t len, struct review *ret,
		  struct err *err);
void review_done(struct review *review);

/* The first value of the user's extra of that name; "" when there is none. */
const char *review_extra(const struct review *review, const char *name);

/* The answer, a whole AdmissionReview; a new reference. patch, the operations
 * of a JSON patch, is borrowed; NULL and [] are none. */
json_t *review_allow(const struct review *review, const json_t *patch);
json_t *review_deny(const struct review *review, const struct status *st);

#endif
