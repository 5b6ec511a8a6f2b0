/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_READS_H
#define WEBHOOK_READS_H

/*
 * reads - several requests to the API server side by side, until all have been
 * answered.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"
#include "kube/client.h"
#include "meta/status.h"

#define READS_MAX 4

struct reads;

struct reads_item {
	struct reads *reads;
	struct kube_call *call; /* NULL: none is under way */
	json_t *answer;         /* NULL: it failed */
	struct status status;   /* why; code 0 when it did not */
	int code;               /* of HTTP */
};

/* { 0 } is an empty one. It must not move while something is under way. */
struct reads {
	struct reads_item items[READS_MAX];
	size_t count;
	size_t open; /* under way */
	void (*done)(void *arg);
	void *arg;
};

/* Sends a request. Its place, from 0 on, is where its answer will be. */
size_t reads_send(struct reads *reads, struct kube_client *client,
		  const struct kube_request *request);
/* Calls done once, from the loop, when everything has been answered; something
 * must be under way. */
void reads_wait(struct reads *reads, void (*done)(void *arg), void *arg);

/* NULL when it failed. Borrowed. */
const json_t *reads_answer(const struct reads *reads, size_t place);
/* The server says that there is no such object. */
bool reads_is_missing(const struct reads *reads, size_t place);

/* Cancels what is under way and drops the rest; { 0 } again. */
void reads_done(struct reads *reads);

#endif
