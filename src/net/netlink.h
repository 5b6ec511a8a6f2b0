/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_NETLINK_H
#define NET_NETLINK_H

/*
 * netlink - a conversation with the kernel about one network namespace.
 *
 * link.h, address.h, route.h and neighbour.h say what can be talked about;
 * this is what they have in common, and how one begins. Requests are answered
 * at once by the kernel; should it ever not answer, the wait ends after
 * NETLINK_TIMEOUT_MS with ERR_TIMEOUT, and the conversation is not to be used
 * any more.
 *
 * Threading: one thread at a time; whichever namespace it is in.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct netlink;
struct nlmsghdr;

#define NETLINK_TIMEOUT_MS 10000

/* About the namespace, -1 for the caller's own. The caller frees *ret. */
int netlink_open(int netns_fd, struct netlink **ret, struct err *err);
void netlink_free(struct netlink *nl);
/* For AUTO(netlink_unref). */
void netlink_unref(struct netlink **nl);

/*
 * For the modules of this directory. A request is begun with its fixed header
 * of extra_len zeroed bytes, gets its attributes (libmnl), and is sent: for one
 * acknowledgement, or for a list of objects.
 */
struct nlmsghdr *netlink_begin(struct netlink *nl, uint16_t type,
			       uint16_t flags, size_t extra_len,
			       void **ret_extra);
/* Errors say "cannot WHAT 'NAME': ...", with the kernel's own words. */
int netlink_change(struct netlink *nl, const char *what, const char *name,
		   struct err *err);

#define NETLINK_OBJECTS_MAX 65536 /* more are ERR_LIMIT */

struct netlink_query {
	const char *what; /* "list links" */
	size_t item_size;
	/* Fills a zeroed item; false when the object is none to be listed. */
	bool (*read)(const struct nlmsghdr *message, void *item);
};

/* The list is begun anew when it changed while it was read. The caller frees
 * *ret_items, which is NULL when there are none. */
int netlink_list(struct netlink *nl, const struct netlink_query *query,
		 void *ret_items, size_t *ret_count, struct err *err);

#endif
