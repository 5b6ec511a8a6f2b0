/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_CALL_H
#define WEBHOOK_CALL_H

/*
 * call - one request from its arrival to its one answer.
 *
 * A route's function gets the call, sends what it needs to know to the API
 * server, goes on in a continuation, and ends with one of the answers, after
 * which the call is gone. A client that leaves changes nothing: what was begun
 * is finished, and the answer goes nowhere.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "meta/status.h"
#include "webhook/reads.h"
#include "webhook/review.h"
#include "webhook/stats.h"

struct access_wait;
struct api;
struct http_request;
struct kubevirt_config;
struct pause;
struct plan;

/* For each request to the API server: less than what a webhook is given. */
#define CALL_REQUEST_MS 8000

struct call;
typedef void call_fn(struct call *call);

struct call {
	struct call *next, **back; /* in the list of the api */
	struct api *api;
	struct http_request *http;
	uint64_t began_us;
	enum stat_route stat;
	struct reads reads;
	call_fn *then; /* what goes on when the reads are done */

	struct review review; /* of a webhook */

	/* Of a subresource. */
	const struct sub_route *route;
	char *user; /* who asks */
	char *ns, *name;
	json_t *options; /* the body; an object */
	bool has_body;
	bool dry_run;
	struct access_wait *access;
	struct plan *plan;
	size_t step;    /* of the plan */
	unsigned tries; /* that something changed under */
	struct pause *pause;
};

struct call *call_new(struct api *api, struct http_request *http,
		      enum stat_route stat);
/* Without an answer: the connection is cut. */
void call_abort(struct call *call);

/* The KubeVirt object, or its defaults where there is none. NULL while nobody
 * knows: the call has been answered then. */
const struct kubevirt_config *call_config(struct call *call);

/* Sends a request with the call's deadline; then goes on when everything that
 * was sent has been answered. */
size_t call_send(struct call *call, struct kube_request request);
void call_then(struct call *call, call_fn *then);

/* Answers to a webhook. patch is borrowed and may be NULL. */
void call_allow(struct call *call, const json_t *patch);
void call_deny(struct call *call, const struct status *st);
/* Denies when st has a code, else allows it as it is. */
void call_judge(struct call *call, const struct status *st);
/* Refused because the API server did not say what was asked. what as "the
 * machine". */
void call_deny_unread(struct call *call, size_t place, const char *what);

/* Answers to others. A body is taken, and NULL for none. */
void call_reply(struct call *call, int code, const json_t *body);
void call_reply_status(struct call *call, const struct status *st);

#endif
