/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_REACH_H
#define NET_REACH_H

/*
 * reach - whether a TCP port of a host is reached: a connection that is made
 * and closed, and what became of it.
 *
 * Threading: any thread; nothing waits.
 */

#include <stdint.h>

struct err;

#define REACH_MS 2000 /* until a port counts as dropped */

enum reach {
	REACH_OPEN,
	REACH_REFUSED,     /* the host is there, nobody listens */
	REACH_SILENT,      /* no answer: dropped on the way, or no such host */
	REACH_UNREACHABLE, /* no route */
	REACH_COUNT,
};

/* "open", "refused", "silent", "unreachable". */
const char *reach_name(enum reach reach);

/*
 * Begins to connect. Returns 1 when that goes on: *ret_fd, the caller's, is
 * writable once it is over, and reach_end() says how; 0 when it is over
 * already, with *ret_reach; -1 when it cannot even be tried.
 */
int reach_begin(const char *address, uint16_t port, int *ret_fd,
		enum reach *ret_reach, struct err *err);
enum reach reach_end(int fd);

#endif
