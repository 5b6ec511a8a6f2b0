/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_TAP_H
#define NET_TAP_H

/*
 * tap - links whose other end is a program. Threading: any thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct err;

#define TAP_DEVICE "/dev/net/tun"

struct tap_spec {
	const char *name;
	uint32_t owner; /* who may open it besides root; LINK_NOBODY: nobody */
	uint32_t group;
	bool multi_queue;
};

/*
 * Makes a tap that stays, with room for a virtio header in front of each frame
 * as QEMU wants it. It is down. netns_fd as in netns_run(). ERR_EXISTS when the
 * name is taken.
 */
int tap_add(int netns_fd, const struct tap_spec *spec, struct err *err);

/* Opens one as QEMU does; for those who play a guest. *ret_fd is the caller's
 * and does not block; frames have a virtio_net_hdr of 10 bytes in front. */
int tap_open(int netns_fd, const char *name, int *ret_fd, struct err *err);

#endif
