/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHRPC_CLIENT_H
#define LAUNCHRPC_CLIENT_H

/*
 * client - a handler's connection to one launcher, on the handler's loop.
 *
 * Exchanges hello and versions by itself. What comes from the launcher is
 * limited and checked; who it is has to be checked by the caller before, by
 * the socket's credentials. Answers come in the order of calls: while a `sync`
 * or `prepare` is being done, later calls wait (use a second connection where
 * that matters), notifications do not.
 *
 * Threading: only from the loop's thread. Every callback may free the client.
 */

#include <stdint.h>

#include "base/js.h"
#include "launchrpc/protocol.h"
#include "launchrpc/request.h"
#include "launchrpc/status.h"

struct err;
struct launch_client;
struct loop;

struct launch_client_config {
	struct loop *loop;
	const char *program; /* "ferry-handler" */
	const char *version;
	/* Once: both sides have agreed on a protocol. */
	void (*ready)(void *ctx, const struct launch_versions *launcher);
	/* After ready, and whenever something changes. */
	void (*status)(void *ctx, const struct launch_status *status);
	/* Once, unless it is freed before: why there is no connection any
	 * more. ERR_REFUSED: no common protocol. */
	void (*ended)(void *ctx, const struct err *err);
	void *ctx;
};

/* The answer of a call: the status behind it, or why not. */
typedef void (*launch_answer_fn)(void *arg, const struct launch_status *status,
				 const struct err *err);

/* Takes fd, a connected socket; -1 with errors only for those of the system.
 * The config is copied, its strings are not. */
struct launch_client *
launch_client_new(const struct launch_client_config *config, int fd);

/*
 * Calls with parameters (borrowed, of request.h; NULL for none). Returns 0, and
 * fn (may be NULL) is called later; or -1 and it never is. Not before ready.
 */
int launch_client_call(struct launch_client *client, enum launch_method method,
		       json_t *params, launch_answer_fn fn, void *arg,
		       struct err *err);

/* Calls that wait are forgotten. NULL is fine. */
void launch_client_free(struct launch_client *client);

#endif
