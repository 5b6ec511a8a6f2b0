/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

/* listen - the listening socket of a server, from what an option says. */

#include <stdint.h>

struct err;

#define LISTEN_BACKLOG 1024

/*
 * text is "ADDR:PORT", "[ADDR]:PORT", ":PORT", or NULL for address and port as
 * given. Port 0 is the kernel's choice; *ret_port is the one it became. The
 * caller owns *ret_fd, non-blocking and close-on-exec.
 */
int listen_open(const char *text, const char *address, uint16_t port,
		int *ret_fd, uint16_t *ret_port, struct err *err);

#endif
