/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_ANNOUNCE_H
#define NET_ANNOUNCE_H

/*
 * announce - telling a network where a machine is now.
 *
 * One frame each, sent as if by the machine: switches learn the port from its
 * source address, neighbours the MAC from what is in it. RARP is for machines
 * whose addresses nobody knows, and is what QEMU sends itself.
 *
 * Threading: any thread.
 */

#include "net/inet.h"

struct err;

/* Gratuitous ARP for IPv4, unsolicited neighbour advertisement for IPv6.
 * netns_fd as in netns_run(). */
int announce_ip(int netns_fd, const char *link, const struct mac *mac,
		const struct ip *ip, struct err *err);
int announce_rarp(int netns_fd, const char *link, const struct mac *mac,
		  struct err *err);

#endif
