/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_OPENER_INTERNAL_H
#define PROXY_OPENER_INTERNAL_H

/*
 * What passes between main and the opener, for opener.c, opener_child.c and
 * their tests.
 *
 * One request, one reply, each one packet of a fixed size on a SOCK_SEQPACKET
 * socket; both sides are the same program, so a struct is the format. The
 * opener trusts nothing in a request: main is the one that may have been taken
 * over.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proxy/opener.h"

enum opener_op {
	OPENER_OPEN_DIR,  /* path; replies a descriptor */
	OPENER_LISTEN,    /* directory, name, owner; replies one, and ids */
	OPENER_CONNECT,   /* directory, name; replies one */
	OPENER_UNLINK,    /* directory, name, ids */
	OPENER_OPEN_FILE, /* index; replies a descriptor */
	OPENER_STAT_FILE, /* index; replies a stamp */
	OPENER_OP_COUNT,
};

struct opener_request {
	uint32_t op;
	uint32_t number; /* of the request, comes back in the reply */
	uint32_t index;  /* of the credential file */
	struct endpoint_owner owner;
	uint32_t give; /* whether owner counts */
	uint64_t dev;
	uint64_t ino;
	char name[ENDPOINT_NAME_MAX + 1];
	char path[OPENER_PATH_MAX + 1];
};

struct opener_reply {
	uint32_t number;
	uint32_t failed;
	struct err err; /* if failed */
	struct opener_stamp stamp;
};

/* The number of the reply that says that the opener is ready. */
#define OPENER_HELLO 0

/*
 * Serves requests on sock until it is closed. Never returns. Confines itself
 * first, and says in a reply whether that worked.
 */
_Noreturn void opener_child(int sock, const struct opener_config *config);

/*
 * Does what a request asks. fds are the descriptors that came with it; the
 * caller closes them. *ret_fd is a descriptor to reply with, or -1.
 */
void opener_serve(const struct opener_config *config,
		  const struct opener_request *request, const int *fds,
		  size_t n_fds, struct opener_reply *ret_reply, int *ret_fd);

#endif
