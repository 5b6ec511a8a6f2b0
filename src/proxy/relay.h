/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_RELAY_H
#define PROXY_RELAY_H

/*
 * relay - carries one stream between a local unix socket and the network.
 *
 * Two halves that know nothing of each other's progress, one per direction:
 * the outward half reads the local socket and sends, the inward half receives
 * and writes to it. The end of one direction (a half-close) is passed on and
 * leaves the other running; the relay ends when both have.
 *
 * How bytes cross is the pump's business: sealed into TLS records
 * (pump_tls.c) or moved by splice(2) without being looked at (pump_splice.c),
 * be it in the clear or with records that the kernel makes.
 *
 * What happens to data when things end:
 * - The local program may write and close at once: all it wrote is delivered.
 *   What still comes for it is read and dropped.
 * - A stream that fails is cut on both sides; the peer sees a reset or a TLS
 *   stream without its end, never something that looks complete.
 *
 * Threading: relay_new() anywhere; everything after relay_start() happens in
 * the thread of the worker that started it. See stream.h for the hand-over.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counters;
struct failure;
struct limit;
struct loop;
struct pool;
struct relay;
struct tls_stream;
struct turns;

struct relay_config {
	int local_fd;             /* a connected unix socket, non-blocking */
	int net_fd;               /* a connected TCP socket, non-blocking */
	bool ktls;                /* the kernel may make the records */
	struct tls_stream *tls;   /* NULL: bytes go in the clear */
	struct limit *limit;      /* on what is sent to the network */
	bool urgent;              /* counts for the limit, never waits */
	unsigned peer_timeout_ms; /* a silent network is dead after this */
	const uint8_t *head;      /* what came from the network already */
	size_t head_len;
	struct counters *counters; /* must outlive the relay */
	/* Called once, in the worker's thread; failure is NULL after a
	 * regular end. The relay is still there and must be freed. */
	void (*done)(const struct failure *failure, void *arg);
	void *arg;
};

/* Takes both descriptors and tls; refs the limit; copies the head. */
struct relay *relay_new(const struct relay_config *config);

/* Closes what is still open. In the worker's thread; in any before the start
 * and after done(). */
void relay_free(struct relay *relay);

/* Loop, pool and turns are the worker's, and outlive the relay. */
void relay_start(struct relay *relay, struct loop *loop, struct pool *pool,
		 struct turns *turns);

/* Cuts a running stream; done() is called unless it was before. */
void relay_abort(struct relay *relay, const struct failure *why);

#endif
