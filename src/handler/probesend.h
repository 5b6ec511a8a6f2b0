/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PROBESEND_H
#define HANDLER_PROBESEND_H

/*
 * probesend - measures a way from its beginning: connects to a socket of the
 * node's ferry-proxy that leads to a probesink of another node; see
 * probewire.h.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct err;
struct loop;
struct probesend;

struct probesend_result {
	uint64_t handshake_us;  /* until both proxies have agreed */
	uint64_t round_trip_us; /* of a byte, there and back */
	uint64_t bytes;         /* that arrived; 0 if nothing was to be sent */
	uint64_t duration_us;   /* from the first of them to their receipt */
};

struct probesend_config {
	struct loop *loop;
	int dir_fd;      /* of the proxy's sockets; not needed afterwards */
	const char *key; /* of the listener */
	bool bulk;       /* send as much as goes through in PROBE_SEND_MS */
	/* Once, unless it is freed before; result or err is NULL. May free. */
	void (*done)(void *arg, const struct probesend_result *result,
		     const struct err *err);
	void *arg;
};

struct probesend *probesend_new(const struct probesend_config *config,
				struct err *err);
void probesend_free(struct probesend *probe); /* NULL is fine */

#endif
