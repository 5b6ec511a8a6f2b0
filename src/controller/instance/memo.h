/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_INSTANCE_MEMO_H
#define CONTROLLER_INSTANCE_MEMO_H

/*
 * memo - what a controller remembers between two looks at an object: what it
 * has written and not yet seen, and what failed.
 *
 * Nothing depends on it but how often things are tried: after a restart it is
 * empty. An object without news has none.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

struct memos;

/* A cache that has not shown a write by then is not waited for. */
#define MEMO_PATIENCE_US INT64_C(5000000)
/* What failed is tried again after this, doubling. */
#define MEMO_RETRY_MIN_US INT64_C(1000000)
#define MEMO_RETRY_MAX_US INT64_C(30000000)

struct memos *memos_new(void);
void memos_free(struct memos *memos); /* NULL is fine */

/* The object has been written when it was of this version. */
void memos_wrote(struct memos *memos, const char *key, const char *version,
		 int64_t now_us);
/* The cache still has the version from before the last write: what it would
 * lead to has been done. */
bool memos_is_behind(struct memos *memos, const char *key, const char *version,
		     int64_t now_us);

/* Something failed. message is cut. */
#define MEMO_MESSAGE_SIZE 512
struct memo_failure {
	const char *reason; /* static */
	char message[MEMO_MESSAGE_SIZE];
	int64_t retry_us;
	unsigned count; /* in a row */
};

const struct memo_failure *memos_failed(struct memos *memos, const char *key,
					const char *reason, const char *message,
					int64_t now_us);
/* NULL when nothing has. Good until the next call for the key. */
const struct memo_failure *memos_failure(const struct memos *memos,
					 const char *key);
void memos_succeeded(struct memos *memos, const char *key);

/* A count of the user's own, 0 at first. */
unsigned memos_attempt(const struct memos *memos, const char *key);
void memos_next_attempt(struct memos *memos, const char *key);

/* It is gone. */
void memos_forget(struct memos *memos, const char *key);

#endif
