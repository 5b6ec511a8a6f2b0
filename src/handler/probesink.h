/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PROBESINK_H
#define HANDLER_PROBESINK_H

/*
 * probesink - the end of a way that is measured: takes one connection of the
 * node's ferry-proxy at a time and counts what comes; see probewire.h.
 *
 * Threading: only from the loop's thread.
 */

struct err;
struct loop;
struct probesink;

/* Listens where the proxy will look for the memory of the migration key, below
 * dir_fd, which stays the caller's and open. */
struct probesink *probesink_new(struct loop *loop, int dir_fd, const char *key,
				struct err *err);
/* The socket goes with it. NULL is fine. */
void probesink_free(struct probesink *sink);

#endif
