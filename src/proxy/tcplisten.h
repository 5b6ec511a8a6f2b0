/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_TCPLISTEN_H
#define PROXY_TCPLISTEN_H

/*
 * tcplisten - listening TCP sockets on the kernel's port or one of a range.
 *
 * Threading: any thread.
 */

#include <stdint.h>

struct bindaddr;
struct err;

/* Ports to choose from, both ends included; 0-0 leaves it to the kernel. */
struct tcplisten_range {
	uint16_t lo;
	uint16_t hi;
};

/*
 * "LO-HI" or one port, 1 to 65535; "" and "0" leave the choice to the kernel.
 */
int tcplisten_parse_range(const char *text, struct tcplisten_range *ret_range,
			  struct err *err);

/*
 * Listens on addr, whose port is ignored, and tells the port. A range is tried
 * from a random place on, so that daemons that share it seldom meet;
 * ERR_LIMIT when all of it is taken. On success the caller owns *ret_fd,
 * non-blocking and close-on-exec. [::] takes IPv4 as well.
 */
int tcplisten_open(const struct bindaddr *addr,
		   const struct tcplisten_range *range, int *ret_fd,
		   uint16_t *ret_port, struct err *err);

#endif
