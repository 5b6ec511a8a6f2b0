/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_ACCESS_H
#define WEBHOOK_ACCESS_H

/*
 * access - whether a user may do something, as the API server says.
 *
 * Asked with a SubjectAccessReview. An answer is kept for ACCESS_LIFE_MS, so
 * that a script that does many things does not ask for each; what was withdrawn
 * stays allowed for no longer than that. Failures are not kept.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct access;
struct access_wait;
struct kube_client;

#define ACCESS_LIFE_MS 10000
#define ACCESS_ENTRIES_MAX 1024 /* kept; the oldest goes */
#define ACCESS_TIMEOUT_MS 10000

struct access *access_new(struct kube_client *client);
void access_free(struct access *access); /* NULL is fine */

struct access_question {
	const json_t *user; /* {"user","uid","groups","extra"} */
	const char *verb, *group, *version, *resource, *subresource;
	const char *ns, *name;
};

enum access_answer {
	ACCESS_ALLOWED,
	ACCESS_DENIED,
	ACCESS_FAILED, /* the API server did not answer; text says why */
};

/* done is called once, possibly before this returns: then it returns NULL.
 * text is a reason, or "". */
struct access_wait *
access_ask(struct access *access, const struct access_question *question,
	   void (*done)(enum access_answer answer, const char *text, void *arg),
	   void *arg);
/* done is not called any more; NULL is fine. */
void access_cancel(struct access_wait *wait);

#endif
