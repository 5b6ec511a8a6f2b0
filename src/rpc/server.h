/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_SERVER_H
#define RPC_SERVER_H

/*
 * server - answers JSON-RPC on a listening unix socket.
 *
 * Who may call is decided by SO_PEERCRED when a connection is accepted; others
 * get one error and are gone. A client that sends half a message, or does not
 * read its reply, is cut off at the deadlines of rpc.h; others never wait for
 * it.
 *
 * Threading: only from the loop's thread. Methods must not free the server;
 * they post that to the loop.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpc/session.h"

struct loop;

struct rpc_server_config {
	struct loop *loop;
	struct rpc_service service; /* copied, what it points to is not */
	const uid_t *uids;          /* who may call; copied */
	size_t n_uids;
	/* 0 means the constant in rpc.h. */
	uint64_t receive_timeout_ms;
	uint64_t send_timeout_ms;
};

struct rpc_server;

/*
 * Serves on listen_fd, which is taken and made non-blocking; -1 for a server
 * that only has the connections it is given.
 */
struct rpc_server *rpc_server_new(const struct rpc_server_config *config,
				  int listen_fd);

/* Ends all connections. The socket's file stays the caller's. NULL is fine. */
void rpc_server_free(struct rpc_server *server);

/* Treats fd, which is taken, as if it had been accepted. */
void rpc_server_adopt(struct rpc_server *server, int fd);

/* Tells every client that asked for notifications. params is borrowed. A
 * client that does not keep up is cut off. */
void rpc_server_notify(struct rpc_server *server, const char *method,
		       json_t *params);

size_t rpc_server_connections(const struct rpc_server *server);

#endif
