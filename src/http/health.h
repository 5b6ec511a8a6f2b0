/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_HEALTH_H
#define HTTP_HEALTH_H

/*
 * health - how the process is, for those who ask by HTTPS: /healthz, /readyz
 * and /metrics.
 *
 * Without a certificate of its own it makes one for itself, as KubeVirt's
 * components do; what is served is no secret, and nothing is believed.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct loop;
struct health_server;

#define HEALTH_METRICS_MAX (64UL * 1024 * 1024) /* bytes of an answer */

struct health_options {
	const char *program;            /* the name in its own certificate */
	const char *listen;             /* "ADDR:PORT"; NULL: does not serve */
	const char *tls_cert, *tls_key; /* files; NULL: its own */
};

struct health_hooks {
	bool (*ready)(void *arg);
	/* Prometheus' text format; -1 when buf is full. */
	int (*metrics)(struct buf *buf, void *arg);
	void *arg;
};

struct health_server *health_server_new(struct loop *loop,
					const struct health_options *options,
					const struct health_hooks *hooks,
					struct err *err);
void health_server_free(struct health_server *server); /* NULL is fine */
uint16_t health_server_port(const struct health_server *server);

#endif
