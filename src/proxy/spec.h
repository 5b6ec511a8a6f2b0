/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_SPEC_H
#define PROXY_SPEC_H

/*
 * spec - what a listener is asked to be.
 *
 * Decoded from the parameters of target.start and source.start, whoever sent
 * them; the commands `target` and `source` build the same parameters from
 * their options. Everything is checked here, before anything is opened.
 *
 * A spec owns its strings and the descriptors that came with it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"
#include "proxy/bindaddr.h"
#include "proxy/channel.h"
#include "rpc/endpoint.h"
#include "proxy/tcplisten.h"
#include "tls/identity.h"

struct err;
struct rpc_fds;

/* Bytes per second; beyond any link. */
#define SPEC_BANDWIDTH_MAX (1ULL << 50)

enum side {
	SIDE_TARGET,
	SIDE_SOURCE,
	SIDE_COUNT,
};

/* A directory by its path or by a descriptor that was passed along. */
struct spec_dir {
	char *path; /* NULL: only the descriptor is known */
	int fd;     /* -1: to be opened by path */
};

struct spec {
	enum side side;
	char key[CHANNEL_KEY_MAX + 1];
	char peer[TLS_IDENTITY_SIZE]; /* the one node it may talk to */
	struct spec_dir dir;          /* of the unix sockets */
	bool plain;
	uint64_t bandwidth; /* bytes per second, 0 = no limit */

	/* target: where channel 0 is dialled; like the others if not given */
	struct spec_dir control_dir;
	char control_name[ENDPOINT_NAME_MAX + 1];
	bool block;
	char *bind;                   /* NULL: the daemon's */
	struct tcplisten_range range; /* 0-0: the daemon's */

	/* source: where the target listens, per channel; port 0 = not there */
	struct bindaddr address[CHANNEL_COUNT];
	struct endpoint_owner owner;
};

/* "target", "source". */
const char *side_name(enum side side);
int side_from_name(const char *name, enum side *ret_side, struct err *err);

/*
 * Takes the descriptors it names from fds. On success *ret_spec is the
 * caller's, to be released with spec_done(); on failure nothing is kept.
 */
int spec_decode(enum side side, const json_t *params, struct rpc_fds *fds,
		struct spec *ret_spec, struct err *err);
void spec_done(struct spec *spec);

/*
 * Whether both ask for the same; directories are compared by their descriptors
 * (which must be open in both), so that it does not matter how they are named.
 */
bool spec_equal(const struct spec *a, const struct spec *b);

/* The arguments as they were given, for listings. */
json_t *spec_describe(const struct spec *spec);

#endif
