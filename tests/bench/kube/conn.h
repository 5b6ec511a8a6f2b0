/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_KUBE_CONN_H
#define BENCH_KUBE_CONN_H

/*
 * conn - one HTTPS connection to an API server, blocking and kept alive.
 *
 * An instrument: it shares no code with what it measures, does no more than
 * it must, and ends the program when something goes wrong.
 *
 * Threading: one thread per connection; the context is shared.
 */

#include <stdbool.h>
#include <stddef.h>

struct conn;
struct conn_context;

struct conn_context *conn_context_new(const char *host, const char *port,
				      const char *ca, const char *cert,
				      const char *key);

struct conn *conn_open(struct conn_context *context);
void conn_close(struct conn *conn);

struct reply {
	int code;
	const char *body; /* the connection's, until the next request */
	size_t len;
};

/* body NULL: none. */
void conn_request(struct conn *conn, const char *method, const char *path,
		  const char *body, struct reply *ret);

/* The same, reading the body through without keeping it: its length. */
size_t conn_fetch(struct conn *conn, const char *path, int *ret_code);

/*
 * Starts a watch and makes the connection non-blocking; from then on
 * conn_lines() and conn_fd() are for it.
 */
void conn_watch(struct conn *conn, const char *path);
int conn_fd(const struct conn *conn);

/* Reads what is there and calls fn for each whole line; false at the end. */
bool conn_lines(struct conn *conn, void (*fn)(const char *line, void *arg),
		void *arg);

#endif
