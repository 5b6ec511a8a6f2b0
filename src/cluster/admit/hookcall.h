/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_HOOKCALL_H
#define CLUSTER_ADMIT_HOOKCALL_H

/*
 * hookcall - asks one webhook about one request.
 *
 * Threading: only from the loop's thread.
 */

struct admission_request;
struct fetcher;
struct hook;
struct hookcall;
struct kind_version;
struct loop;
struct review_answer;
struct store;

/* The most that a webhook may answer. */
#define HOOKCALL_ANSWER_MAX (8UL * 1024 * 1024)

struct hookcall_config {
	struct loop *loop;
	struct store *store;
	struct fetcher *fetcher;
	/* Who asks; NULL: nobody in particular. Must stay as well. */
	const char *cert_pem, *key_pem;
	const struct hook *hook;             /* must stay until the call ends */
	const struct admission_request *req; /* only looked at by the start */
	const struct kind_version *version;  /* the one hook_matches() gave */
	/* Once, from the loop and not from within; the answer is valid during
	 * the call, and the hookcall is gone afterwards. */
	void (*done)(struct hookcall *call, struct review_answer *answer,
		     void *arg);
	void *arg;
};

struct hookcall *hookcall_start(const struct hookcall_config *config);
/* Ends it without a word. NULL is fine. */
void hookcall_cancel(struct hookcall *call);

#endif
