/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PROBER_H
#define HANDLER_PROBER_H

/*
 * prober - answers PathProbes that name this node.
 *
 * One at a time on each side, so that measurements do not disturb each other;
 * the others wait. A source begins when its target has answered, so that who
 * waits never keeps a place that the one waited for needs. What was asked and
 * forgotten is deleted. Where ferry-proxy is down that is the answer.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

struct err;
struct handler;
struct prober;

#define PROBER_TARGET_MS 10000U /* for the target to answer */
#define PROBER_HOLD_MS 45000U   /* that a target listens, at most */
#define PROBER_STALE_MS 60000U  /* nobody waits for an answer any more */
#define PROBER_DELETE_MS 600000U

/* The handler's client, proxy and caches are used from now on. */
struct prober *prober_new(struct handler *handler);
void prober_free(struct prober *prober); /* NULL is fine */

/* A listener of this key is one of a probe that goes on. */
bool prober_knows(const struct prober *prober, const char *key);

#endif
