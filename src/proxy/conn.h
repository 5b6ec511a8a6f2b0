/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_CONN_H
#define PROXY_CONN_H

/*
 * conn - a connection on its way to becoming a stream.
 *
 * It exists from accept() until its stream begins or it fails, and whatever it
 * waits for has a deadline. A failure names the stage it happened in.
 *
 * Threading: only from the main loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "proxy/bindaddr.h"

struct failure;
struct link;
struct loop_io;
struct loop_timer;
struct port;

enum stage {
	STAGE_DIAL,      /* source: TCP connection to the target */
	STAGE_HANDSHAKE, /* TLS */
	STAGE_TURN,      /* earlier connections go first */
	STAGE_REQUEST,   /* the source's request and the target's answer */
	STAGE_LOCAL,     /* target: its local socket is dialled */
	STAGE_COUNT,
};

struct conn {
	TAILQ_ENTRY(conn) entry; /* in the listener's list */
	TAILQ_ENTRY(conn) turn;  /* in the port's queue, while in_turn */
	struct port *port;
	enum stage stage;
	bool in_turn;
	uint64_t run; /* target: whose it is, and its number there */
	uint64_t number;
	bool counted_insecure;
	int local_fd; /* -1 until there is one */
	int dial_fd;  /* source, while dialling */
	struct loop_io *dial_io;
	struct loop_timer *timer; /* dialling: deadline or next try */
	uint64_t deadline_ms;
	struct link *link;
	char address[BINDADDR_TEXT_SIZE]; /* of the other proxy */
};

TAILQ_HEAD(conn_list, conn);

const char *stage_name(enum stage stage);

/* Adds it to the listener, in STAGE_DIAL, not yet secure. */
struct conn *conn_new(struct port *port);

/* Closes everything without a word. */
void conn_free(struct conn *conn);

/* Counts and logs the failure, then frees it. */
void conn_fail(struct conn *conn, const struct failure *failure);

/* The handshake is through, and counts as made. */
void conn_secured(struct conn *conn);

/* Hands socket and link over to a stream, then frees it. */
void conn_carry(struct conn *conn);

/* Low latency, and no surprise by a full pipe. */
void conn_tune(int tcp_fd);

#endif
