/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/memo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

struct memo {
	struct map_node node;
	char *key;
	char *version; /* that was written on; NULL: the write has been seen */
	int64_t until_us;
	struct memo_failure *failure; /* NULL: nothing has failed */
	unsigned attempt;
};

struct memos {
	struct map map;
};

struct memos *
memos_new(void)
{
	return xmalloc0(sizeof(struct memos));
}

static void
drop(struct memos *memos, struct memo *memo)
{
	map_remove(&memos->map, &memo->node);
	free(memo->key);
	free(memo->version);
	free(memo->failure);
	free(memo);
}

void
memos_free(struct memos *memos)
{
	struct map_node *node, *next;

	if (memos == NULL)
		return;
	for (node = map_next(&memos->map, NULL); node != NULL; node = next) {
		next = map_next(&memos->map, node);
		drop(memos, MAP_ENTRY(node, struct memo, node));
	}
	map_done(&memos->map);
	free(memos);
}

static struct memo *
find(const struct memos *memos, const char *key)
{
	struct map_node *node = map_get(&memos->map, key);

	return node == NULL ? NULL : MAP_ENTRY(node, struct memo, node);
}

static struct memo *
make(struct memos *memos, const char *key)
{
	struct memo *memo = find(memos, key);

	if (memo != NULL)
		return memo;
	memo = xmalloc0(sizeof(*memo));
	memo->key = xstrdup(key);
	map_put(&memos->map, &memo->node, memo->key);
	return memo;
}

/* A memo that says nothing is none. */
static void
tidy(struct memos *memos, struct memo *memo)
{
	if (memo->version == NULL && memo->failure == NULL &&
	    memo->attempt == 0)
		drop(memos, memo);
}

void
memos_wrote(struct memos *memos, const char *key, const char *version,
	    int64_t now_us)
{
	struct memo *memo = make(memos, key);

	free(memo->version);
	memo->version = xstrdup(version);
	memo->until_us = now_us + MEMO_PATIENCE_US;
}

bool
memos_is_behind(struct memos *memos, const char *key, const char *version,
		int64_t now_us)
{
	struct memo *memo = find(memos, key);

	if (memo == NULL || memo->version == NULL)
		return false;
	if (strcmp(memo->version, version) == 0 && now_us < memo->until_us)
		return true;
	free(memo->version);
	memo->version = NULL;
	tidy(memos, memo);
	return false;
}

const struct memo_failure *
memos_failed(struct memos *memos, const char *key, const char *reason,
	     const char *message, int64_t now_us)
{
	struct memo *memo = make(memos, key);
	struct memo_failure *failure = memo->failure;
	int64_t pause_us = MEMO_RETRY_MIN_US;

	if (failure == NULL)
		failure = memo->failure = xmalloc0(sizeof(*failure));
	for (unsigned i = 0; i < failure->count && pause_us < MEMO_RETRY_MAX_US;
	     i++)
		pause_us *= 2;
	if (pause_us > MEMO_RETRY_MAX_US)
		pause_us = MEMO_RETRY_MAX_US;
	failure->reason = reason;
	(void)snprintf(failure->message, sizeof(failure->message), "%s",
		       message);
	failure->count++;
	failure->retry_us = now_us + pause_us;
	return failure;
}

const struct memo_failure *
memos_failure(const struct memos *memos, const char *key)
{
	const struct memo *memo = find(memos, key);

	return memo == NULL ? NULL : memo->failure;
}

void
memos_succeeded(struct memos *memos, const char *key)
{
	struct memo *memo = find(memos, key);

	if (memo == NULL)
		return;
	free(memo->failure);
	memo->failure = NULL;
	tidy(memos, memo);
}

unsigned
memos_attempt(const struct memos *memos, const char *key)
{
	const struct memo *memo = find(memos, key);

	return memo == NULL ? 0 : memo->attempt;
}

void
memos_next_attempt(struct memos *memos, const char *key)
{
	make(memos, key)->attempt++;
}

void
memos_forget(struct memos *memos, const char *key)
{
	struct memo *memo = find(memos, key);

	if (memo != NULL)
		drop(memos, memo);
}
