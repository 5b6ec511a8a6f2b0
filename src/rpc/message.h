/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_MESSAGE_H
#define RPC_MESSAGE_H

/*
 * message - requests and replies as JSON values, both directions.
 *
 * Pure functions, any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "rpc/rpc.h"

struct err;

/* A request as it was received. What it points to belongs to value. */
struct rpc_request {
	json_t *value;
	const char *method;
	json_t *params; /* NULL: none */
	json_t *id;     /* NULL: a notification, not to be answered */
};

/*
 * Reads one request. On failure *ret_code says which error of JSON-RPC it is,
 * and *ret holds an id if one could be read, so that the sender knows which of
 * its requests is meant. rpc_request_done() in either case.
 */
int rpc_request_parse(const char *text, size_t len, struct rpc_request *ret,
		      int *ret_code, struct err *err);
void rpc_request_done(struct rpc_request *request);

/*
 * Replies; new references. id is borrowed, NULL becomes null; result is taken,
 * NULL becomes null.
 */
json_t *rpc_reply_result(json_t *id, json_t *result);
json_t *rpc_reply_error(json_t *id, int code, const struct err *err);

/* The code a method's error is sent with. */
int rpc_code_from_err(const struct err *err);

/*
 * Reads a reply to the request with number id. Success: a new reference to the
 * result. The peer's error: its kind and text. ERR_UNAVAILABLE: not a reply.
 */
int rpc_reply_parse(const char *text, size_t len, uint64_t id,
		    json_t **ret_result, struct err *err);

/* A request; id 0 is none: a notification. params is borrowed, NULL for none;
 * a new reference. */
json_t *rpc_request_new(uint64_t id, const char *method, json_t *params);

/* {"protocol","program","version"}; a new reference. */
json_t *rpc_hello(const struct rpc_identity *self);

/* ERR_REFUSED, naming both, unless the peer's hello has our protocol. */
int rpc_hello_check(const json_t *hello, struct err *err);

#endif
