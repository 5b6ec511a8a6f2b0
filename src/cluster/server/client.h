/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CLIENT_H
#define CLUSTER_CLIENT_H

/*
 * client - requests of the controllers that live in the server's process.
 *
 * They go the same way as everybody's, through authorization and admission;
 * only TLS and HTTP are left out. The caller is who `user` and `groups` say.
 */

#include "base/js.h"

struct server;

struct client_call {
	const char *user;          /* "system:kube-scheduler" */
	const char *const *groups; /* NULL-ended; NULL: system:masters */
	const char *method;        /* "POST", "PATCH", ... */
	const char *path;          /* with the query, if any */
	const json_t *body;        /* NULL: none; not kept */
	const char *content_type;  /* NULL: application/json */
};

/*
 * done is called exactly once, possibly before this returns, with the HTTP
 * code and the answer (a Status when it failed), which lives as long as the
 * call of done.
 */
void client_request(struct server *server, const struct client_call *what,
		    void (*done)(int code, const json_t *answer, void *arg),
		    void *arg);

#endif
