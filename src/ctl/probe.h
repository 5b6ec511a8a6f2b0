/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PROBE_H
#define CTL_PROBE_H

/*
 * probe - what a network looks like from within a namespace.
 *
 * Threading: any thread; the caller waits.
 */

#include <stdint.h>

#include "net/reach.h"

struct err;

#define PROBE_TEXT_SIZE 64

/* One TCP connection that is closed at once; netns_fd -1 is the caller's. */
int probe_port(int netns_fd, const char *address, uint16_t port,
	       enum reach *ret_result, struct err *err);

/* The first address of an interface that is up, an IPv4 one if there is one;
 * ERR_NOT_FOUND: no such interface; ERR_UNAVAILABLE: it is down or has none. */
int probe_interface(int netns_fd, const char *name, char text[PROBE_TEXT_SIZE],
		    struct err *err);

#endif
