/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_WATCHED_H
#define CTL_WATCHED_H

/*
 * watched - objects of some kinds as they are now, for commands that show how
 * something goes on.
 *
 * By watches: what has not changed is not asked for again. When the API server
 * goes away after the first look it is tried again for as long as this lives,
 * and watched_trouble() says so meanwhile.
 *
 * Threading: one thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct err;
struct kube_resource;
struct kubesync;
struct watched;

#define WATCHED_KINDS_MAX 4
#define WATCHED_FIRST_MS 30000U /* until everything has been seen once */

struct watched_kind {
	const struct kube_resource *resource;
	const char *ns;             /* NULL: all, or it has none */
	const char *field_selector; /* NULL: all */
	bool optional;              /* goes without where it may not be read */
};

/* changed is called from the loop of ks; NULL: nobody is told. */
struct watched *watched_new(struct kubesync *ks,
			    const struct watched_kind *kinds, size_t count,
			    void (*changed)(void *arg), void *arg);
void watched_free(struct watched *watched); /* NULL is fine */

/* Until all kinds have been seen; runs the loop. ERR_UNAVAILABLE with the
 * server's words when one of them cannot be. */
int watched_wait(struct watched *watched, struct err *err);

/* What there is of a kind, in no order; an array, a new reference. */
json_t *watched_items(const struct watched *watched, size_t kind);
/* Why a kind that is optional is not seen; "". */
const char *watched_unseen(const struct watched *watched, size_t kind);
/* Why what is shown may be old; "". */
const char *watched_trouble(const struct watched *watched);

#endif
