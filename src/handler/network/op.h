/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_OP_H
#define HANDLER_NETWORK_OP_H

/*
 * op - single steps of a plan, as values, and their execution.
 *
 * Each step can be repeated: done twice, it is done.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/inet.h"
#include "net/link.h"
#include "net/route.h"

struct err;
struct netlink;

enum op_kind {
	OP_ADD_BRIDGE,  /* link, mac, number: MTU */
	OP_ADD_TAP,     /* link, number: queues; owner and group by executor */
	OP_DELETE,      /* link */
	OP_UP,          /* link */
	OP_SET_MAC,     /* link, mac */
	OP_SET_MTU,     /* link, number */
	OP_SET_MASTER,  /* link, text: the bridge, "" for none */
	OP_NO_LEARNING, /* link */
	OP_NO_CHECKSUM, /* link */
	OP_SET_ALIAS,   /* link, text */
	OP_ADD_ADDRESS, /* link, ip */
	OP_DELETE_ADDRESS,
	OP_ADD_ROUTE, /* route; by way of link, where that is named */
	OP_DELETE_ROUTE,
	OP_SYSCTL, /* text: name; number: value */
	OP_KIND_COUNT,
};

struct op {
	enum op_kind kind;
	/* Done each time, because what it would change is not in the facts. */
	bool always;
	char link[IFNAMSIZ];
	char text[LINK_ALIAS_MAX + 1];
	uint32_t number;
	struct mac mac;
	struct ip_prefix ip;
	struct route route;
};

/* { 0 } is an empty list. */
struct ops {
	struct op *items;
	size_t count;
	size_t room;
};

/* A new one at the end, about a link ("" for none); valid until the next. */
struct op *ops_add(struct ops *ops, enum op_kind kind, const char *link);
void ops_done(struct ops *ops);
/* Those that are not done each time. */
size_t ops_changes(const struct ops *ops);

/* One line, for logs and tests; returns buf. */
#define OP_TEXT_SIZE 400
const char *op_text(const struct op *op, char buf[OP_TEXT_SIZE]);

/* Where steps are done. */
struct op_place {
	struct netlink *nl;
	int netns_fd;
	uid_t tap_uid;
	gid_t tap_gid;
};

int op_execute(const struct op *op, const struct op_place *place,
	       struct err *err);

#endif
