/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

/*
 * cluster - the running control plane: puts the parts together and takes them
 * apart again.
 */

#include <stdint.h>

struct cluster;
struct err;
struct home;
struct loop;

struct cluster_config {
	struct loop *loop;
	struct home *home;      /* its port is set to the real one */
	int listen_fd;          /* taken */
	const char *token_file; /* NULL: none */
	uint64_t node_grace_ms; /* 0: the default */
	uint64_t event_ttl_ms;  /* 0: the default */
	uint64_t history_events;
};

/* Serves from the loop on; NULL on failure, with nothing left behind. */
struct cluster *cluster_start(const struct cluster_config *config,
			      struct err *err);

/*
 * Refuses new requests, ends watches, lets the others finish, and calls
 * stopped (once, from the loop).
 */
void cluster_drain(struct cluster *cluster, void (*stopped)(void *arg),
		   void *arg);

void cluster_free(struct cluster *cluster); /* NULL is fine */

#endif
