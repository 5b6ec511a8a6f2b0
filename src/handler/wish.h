/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_WISH_H
#define HANDLER_WISH_H

/*
 * wish - what a machine's object is to say in the members that this node
 * writes.
 *
 * A wish that the object fulfils already costs nothing; of the others a JSON
 * patch is made. So the same wishes may be stated again and again, and a
 * handler that was away states them once more.
 *
 * The patch tests what it stands on: the migration, where its state is
 * written; the conditions as they were, since others write conditions too; and
 * the version of the whole object for what must not pass a change of somebody
 * else's unseen (wishes.exact).
 *
 * Threading: as js.h.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

#define WISHES_MAX 40

struct wish {
	char *pointer; /* RFC 6901 */
	json_t *value; /* NULL: it is not to be there */
};

struct wishes {
	struct wish list[WISHES_MAX];
	size_t count;
	bool exact;
};

void wishes_done(struct wishes *wishes);

/* Takes value, which is not NULL. */
void wish_set(struct wishes *wishes, const char *pointer, json_t *value);
void wish_text(struct wishes *wishes, const char *pointer, const char *text);
/* As Kubernetes writes times, with seconds. */
void wish_time(struct wishes *wishes, const char *pointer, int64_t time_us);
void wish_gone(struct wishes *wishes, const char *pointer);
/* A label or annotation; which is "labels" or "annotations". NULL: gone. */
void wish_tag(struct wishes *wishes, const char *which, const char *name,
	      const char *value);

/*
 * The patch that fulfils what object does not yet; NULL when there is nothing
 * to do. A new reference.
 */
json_t *wishes_patch(const struct wishes *wishes, const json_t *object);

#endif
