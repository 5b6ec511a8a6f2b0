/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PROXYCTL_H
#define HANDLER_PROXYCTL_H

/*
 * proxyctl - the node's ferry-proxy, as its controller sees it.
 *
 * Stays connected to the control socket: ferry-proxy may be restarted, and
 * outlives the handler. After each connection it is asked what runs, so that
 * listeners of an earlier handler are known.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct err;
struct loop;
struct proxyctl;

#define PROXYCTL_RETRY_MS 500U
#define PROXYCTL_TIMEOUT_MS 30000U      /* of a call */
#define PROXYCTL_LIST_TIMEOUT_MS 10000U /* of the question what runs */
#define PROXYCTL_METRICS_MS 5000U       /* between two looks at its counters */

enum proxy_side {
	PROXY_SOURCE,
	PROXY_TARGET,
	PROXY_SIDE_COUNT,
};

struct proxyctl_config {
	struct loop *loop;
	const char *path; /* of the control socket; not copied */
	/* Other listeners run than was known; or nothing is known any more. */
	void (*changed)(void *arg);
	/* It has said again what runs, whether that has changed or not. */
	void (*listed)(void *arg);
	void *arg;
};

struct proxyctl *proxyctl_new(const struct proxyctl_config *config);
void proxyctl_free(struct proxyctl *ctl); /* NULL is fine */

/* Connected, and it is known what runs. */
bool proxyctl_is_up(const struct proxyctl *ctl);
/* It has been up, or been found not to be: what is_up says means something. */
bool proxyctl_is_settled(const struct proxyctl *ctl);
/* Asks again what runs. Nothing is done while it is not up. */
void proxyctl_list(struct proxyctl *ctl);
/* What it counts, as Prometheus' text and a few seconds old; "" when it is not
 * known. */
const char *proxyctl_metrics(const struct proxyctl *ctl);
/* Whether a listener runs under the key. */
bool proxyctl_has(const struct proxyctl *ctl, enum proxy_side side,
		  const char *key);
/* Calls fn with the key of each listener. */
void proxyctl_each(const struct proxyctl *ctl, enum proxy_side side,
		   void (*fn)(const char *key, void *arg), void *arg);

/* The answer: result is that of ferry-proxy-control(5), borrowed. */
typedef void proxyctl_done_fn(void *arg, const json_t *result,
			      const struct err *err);

/*
 * target.start and source.start, with parameters and descriptors as in
 * ferry-proxy-control(5); the descriptors stay the caller's. Returns 0, and fn
 * is called once from the loop, unless the ctl is freed; or -1.
 */
struct proxyctl_start {
	enum proxy_side side;
	json_t *params; /* borrowed; has "key" */
	const int *fds;
	size_t fd_count;
};

int proxyctl_start(struct proxyctl *ctl, const struct proxyctl_start *start,
		   proxyctl_done_fn *fn, void *arg, struct err *err);
/* What went wrong last with a listener: result is {"reason", "message"}, or
 * NULL when nothing did. */
int proxyctl_blame(struct proxyctl *ctl, enum proxy_side side, const char *key,
		   proxyctl_done_fn *fn, void *arg, struct err *err);
/* A listener that is not there is stopped. */
struct proxyctl_end {
	enum proxy_side side;
	const char *key;
	bool finish; /* its streams go on to their end, and are not cut;
		      * ERR_INVALID from a ferry-proxy that cannot */
};

int proxyctl_stop(struct proxyctl *ctl, const struct proxyctl_end *end,
		  proxyctl_done_fn *fn, void *arg, struct err *err);

#endif
