/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_TASK_H
#define CLUSTER_CONTROL_TASK_H

/*
 * task - a thing from a worker's queue, while requests about it are on their
 * way.
 *
 * The work on it ends when task_close() was called and all requests have been
 * answered. It failed, and will be done again, when one of them did: 404 is no
 * failure, as what is gone need not be changed.
 */

#include <stdbool.h>
#include <stddef.h>

struct api;
struct api_call;
struct worker;

struct task {
	struct worker *worker;
	struct api *api;
	char *key;
	size_t pending; /* requests, and one until task_close() */
	bool failed;
	bool again; /* when it did not fail there is more to do */
};

/* From a worker's work function. */
struct task *task_new(struct worker *worker, struct api *api, const char *key);

/* The call's done and arg must not be set. */
void task_send(struct task *task, const struct api_call *call);

/* No more requests will be sent; task may be gone. */
void task_close(struct task *task);

#endif
