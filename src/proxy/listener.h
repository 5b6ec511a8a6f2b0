/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_LISTENER_H
#define PROXY_LISTENER_H

/*
 * listener - one side of one migration: its sockets, connections and streams.
 *
 * A target listens on TCP and dials unix sockets, a source the other way
 * round; each channel of the migration has one listening socket. target.c and
 * source.c say how a connection comes about, conn.c what they have in common.
 *
 * Threading: only from the main loop's thread.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/js.h"
#include "base/log.h"
#include "proxy/bindaddr.h"
#include "proxy/channel.h"
#include "proxy/conn.h"
#include "proxy/counters.h"
#include "rpc/endpoint.h"
#include "proxy/proxy.h"
#include "proxy/reason.h"
#include "proxy/spec.h"
#include "proxy/stream.h"

struct err;
struct limit;
struct loop_io;
struct loop_timer;

/* How long accepting pauses when there are no descriptors left. */
#define LISTENER_PAUSE_MS 100

/* Sources, one after another, that a target remembers the order of. */
#define LISTENER_RUNS 4

/* How far the requests of one source have come, on one channel. */
struct run {
	uint64_t id;
	uint64_t next; /* the number that is dialled next */
};

/* One channel's listening socket. */
struct port {
	struct listener *listener;
	enum channel channel;
	int fd;
	uint16_t tcp_port;        /* target */
	struct endpoint endpoint; /* source: the file, to remove it */
	struct loop_io *io;
	struct loop_timer *pause;
	/*
	 * Source: who has not asked yet, in order of accepting, and the number
	 * of the next request. Target: who has asked and waits for its turn.
	 */
	struct conn_list turn;
	uint64_t next_number;
	struct run runs[LISTENER_RUNS]; /* target, the latest first */
	size_t n_runs;
};

struct listener {
	TAILQ_ENTRY(listener) entry;
	struct proxy *proxy;
	struct spec spec;
	struct bindaddr address; /* target: what it listens on */
	struct port port[CHANNEL_COUNT];
	size_t n_ports;
	struct conn_list conns; /* being set up, oldest first */
	size_t n_conns;
	size_t n_insecure; /* of them, in the handshake */
	struct stream_list streams;
	size_t n_streams;
	struct limit *limit;
	uint64_t run; /* source: drawn at random */
	uint64_t started_ms;
	struct counts ended; /* of streams that are over */
	uint64_t streams_ended;
	uint64_t failures[REASON_COUNT];
	struct failure last_failure;
	uint64_t last_failure_ms;
};

/* Takes the spec, whose directories are open, on failure too. A failure leaves
 * nothing behind. */
int listener_new(struct proxy *proxy, struct spec *spec,
		 struct listener **ret_listener, struct err *err);

/* Sockets and files are gone when it returns. Streams are cut, which takes a
 * little longer; or may go on to their end. */
void listener_free(struct listener *listener, bool cut);

void listener_set_bandwidth(struct listener *listener, uint64_t rate);

/* The answer to target.start and source.start. */
json_t *listener_result(const struct listener *listener);
/* A line of the listing: arguments, result, streams, counters, failures. */
json_t *listener_describe(const struct listener *listener);
/* The part of it that moves. */
json_t *listener_describe_counters(const struct listener *listener);
void listener_counts(const struct listener *listener, struct counts *sum);

/* Counts a failure and keeps it as the last one. */
void listener_failed(struct listener *listener, const struct failure *failure);

/* {"target":...} side, key, channel, peer: what log lines are about. */
#define LISTENER_REF_FIELDS 8
void listener_ref(const struct listener *listener, enum channel channel,
		  const char *address, const struct failure *failure,
		  struct log_field ref[LISTENER_REF_FIELDS]);

/* Called by streams: one has begun, and one has ended. */
void listener_stream_started(struct listener *listener, struct stream *stream);
void listener_stream_ended(struct listener *listener, struct stream *stream,
			   const struct failure *failure);

/* Whether there is room for another connection. */
bool listener_accepting(const struct listener *listener);
/* Accepts again, or not, as the limits say. */
void listener_update_accept(struct listener *listener);
/* accept4(2) failed: pauses when the process is out of something. */
void listener_accept_error(struct port *port, int error);

/* Makes a socket of the ports; in target.c and source.c. */
int target_open(struct listener *listener, struct err *err);
int source_open(struct listener *listener, struct err *err);
void target_accept(struct port *port);
void source_accept(struct port *port);

#endif
