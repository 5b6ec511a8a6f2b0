/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_FDS_H
#define RPC_FDS_H

/*
 * fds - the descriptors that came with a message, and how they travel.
 *
 * A set owns what is in it. All received descriptors are close-on-exec.
 *
 * Threading: none of its own; a set belongs to one thread at a time.
 */

#include <stddef.h>
#include <sys/types.h>

#include "rpc/rpc.h"

struct err;

struct rpc_fds {
	int fd[RPC_FDS_MAX]; /* -1 once taken */
	size_t count;        /* as received; taking does not change it */
};

/*
 * Hands over descriptor number index: the caller owns it from now on. -1 when
 * there is none, or it was taken before.
 */
int rpc_fds_take(struct rpc_fds *fds, size_t index);

/* Closes what was not taken and empties the set. For AUTO() as well. */
void rpc_fds_done(struct rpc_fds *fds);

/*
 * One sendmsg(2) of up to len bytes with count descriptors, which stay the
 * caller's. Returns as sendmsg(2) does, errno included; never raises SIGPIPE.
 */
ssize_t rpc_fds_send(int sock, const void *data, size_t len, const int *fds,
		     size_t count);

/*
 * One recvmsg(2) of up to len bytes. Returns as recvmsg(2) does; what came
 * along is in *ret_fds, which is empty on failure. More than RPC_FDS_MAX at
 * once is EMSGSIZE, with all of them closed.
 */
ssize_t rpc_fds_receive(int sock, void *data, size_t len,
			struct rpc_fds *ret_fds);

#endif
