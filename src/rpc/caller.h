/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_CALLER_H
#define RPC_CALLER_H

/*
 * caller - a client of an rpc server that lives on a loop.
 *
 * Says "hello" by itself, then sends calls in the order they were made; each
 * is answered once, by its result, the server's error, ERR_TIMEOUT, or the
 * reason for which the connection ended. A server answers one call after the
 * other: one that is late keeps those behind it waiting, and when its deadline
 * passes the connection is of no more use and ends.
 *
 * A server is not trusted to be brief: of one that notifies more, or more often
 * than rpc.h allows, nothing is read for as long as that takes to even out.
 *
 * Threading: only from the loop's thread. Every callback may free the caller.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"
#include "rpc/rpc.h"

struct err;
struct loop;
struct rpc_call; /* client.h */
struct rpc_caller;

#define RPC_CALLS_MAX 64U /* that wait for their answer */

struct rpc_caller_config {
	struct loop *loop;
	struct rpc_identity self;
	/* Once, when the server has said hello, which is borrowed; may be
	 * NULL. */
	void (*ready)(void *ctx, const json_t *hello);
	/* A notification; NULL: none are asked for. params may be NULL. */
	void (*notified)(void *ctx, const char *method, const json_t *params);
	/* Once, when the connection is over, after all calls were answered;
	 * not for rpc_caller_free(). */
	void (*ended)(void *ctx, const struct err *err);
	void *ctx;
};

/* One call's answer: result (borrowed) or err, the other is NULL. */
typedef void (*rpc_answer_fn)(void *arg, const json_t *result,
			      const struct err *err);

/* Takes fd, a connected socket. The config is copied. */
struct rpc_caller *rpc_caller_new(const struct rpc_caller_config *config,
				  int fd);

/*
 * Calls. params is borrowed, NULL for none. timeout_ms counts from now; 0 is
 * RPC_RECEIVE_TIMEOUT_MS. fn may be NULL. Returns 0, and fn is called later,
 * never from within; or -1 and fn is never called: too large a request, too
 * many calls, or a connection that has ended.
 */
int rpc_caller_call(struct rpc_caller *caller, const char *method,
		    json_t *params, uint64_t timeout_ms, rpc_answer_fn fn,
		    void *arg, struct err *err);

/* The same for a call with descriptors, which are passed along and stay the
 * caller's; timeout_ms as above. */
int rpc_caller_send(struct rpc_caller *caller, const struct rpc_call *what,
		    rpc_answer_fn fn, void *arg, struct err *err);

/* Calls that wait are forgotten. NULL is fine. */
void rpc_caller_free(struct rpc_caller *caller);

#endif
