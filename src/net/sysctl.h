/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_SYSCTL_H
#define NET_SYSCTL_H

/*
 * sysctl - settings below /proc/sys/net of a network namespace.
 *
 * A name has slashes: "ipv4/ip_forward", "ipv6/conf/eth0/disable_ipv6". One
 * that leads elsewhere is ERR_DENIED, one that does not exist (a kernel without
 * IPv6) ERR_NOT_FOUND. Threading: any thread.
 */

#include <stddef.h>

struct err;

/* netns_fd as in netns_run(). */
int sysctl_set(int netns_fd, const char *name, const char *value,
	       struct err *err);
/* Without the line's end, cut to size. */
int sysctl_get(int netns_fd, const char *name, char *buf, size_t size,
	       struct err *err);

#endif
