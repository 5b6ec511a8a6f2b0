/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_CLIENT_H
#define RPC_CLIENT_H

/*
 * client - calls methods of an rpc server and waits for the answers.
 *
 * For commands, which have nothing else to do meanwhile; every wait has a
 * deadline. After a call that failed without an answer (ERR_TIMEOUT,
 * ERR_UNAVAILABLE from here) the connection is of no more use, and every later
 * call fails at once.
 *
 * Threading: one thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "rpc/rpc.h"

struct err;

#define RPC_CLIENT_TIMEOUT_MS 10000U

struct rpc_client;

struct rpc_call {
	const char *method;
	json_t *params; /* object or array, borrowed; NULL for none */
	const int *fds; /* passed along, stay the caller's */
	size_t n_fds;
	uint64_t timeout_ms; /* 0 means RPC_CLIENT_TIMEOUT_MS */
};

/*
 * Connects to the socket at path and exchanges "hello". ERR_NOT_FOUND: no such
 * socket; ERR_REFUSED: nobody listens on it, or another protocol is spoken
 * there; ERR_DENIED: not for this user.
 */
int rpc_client_connect(const char *path, const struct rpc_identity *self,
		       struct rpc_client **ret_client, struct err *err);

/* The same on a connected socket, which is taken, on failure too. */
int rpc_client_new(int fd, const struct rpc_identity *self,
		   struct rpc_client **ret_client, struct err *err);

/*
 * Calls and waits. On success *ret_result is a new reference. An error of the
 * method comes back as its kind and text.
 */
int rpc_client_call(struct rpc_client *client, const struct rpc_call *call,
		    json_t **ret_result, struct err *err);

/* What the server said in "hello"; borrowed. */
const json_t *rpc_client_peer(const struct rpc_client *client);

/* NULL is fine. rpc_client_done() is for AUTO(). */
void rpc_client_free(struct rpc_client *client);
void rpc_client_done(struct rpc_client **client);

#endif
