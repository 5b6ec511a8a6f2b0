/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_STREAM_H
#define PROXY_STREAM_H

/*
 * stream - a connection that carries bytes, as the main thread knows it.
 *
 * The relay that does the work lives in a worker. Between the two only posted
 * messages and the counters pass:
 *
 *	main    start -------+         abort ----+         ended, free
 *	worker               +> relay_start ...  +> cut, done -+
 *
 * The worker says done exactly once, and has closed everything by then. Main
 * frees the stream, unless it had sent an abort that may still be on its way:
 * then the worker does, told by a message behind the abort. The listener may
 * be gone by then.
 *
 * Threading: only from the main loop's thread.
 */

#include <stdint.h>
#include <sys/queue.h>

#include "base/js.h"
#include "proxy/bindaddr.h"
#include "proxy/channel.h"
#include "proxy/counters.h"
#include "proxy/link.h"

struct failure;
struct listener;
struct loop_timer;
struct proxy;
struct relay;
struct worker;

struct stream {
	TAILQ_ENTRY(stream) entry; /* in the listener's list, or the proxy's */
	struct proxy *proxy;
	struct listener *listener;   /* NULL: it is gone */
	struct loop_timer *deadline; /* of one that was released; NULL */
	uint64_t id;
	enum channel channel;
	char peer[BINDADDR_TEXT_SIZE]; /* address of the other proxy */
	const char *cipher;            /* static; "none" in plain mode */
	uint64_t started_ms;
	struct counters counters;
	struct worker *worker;
	struct relay *relay; /* the worker's */
	bool aborted;
	struct failure failure; /* why it ended; the worker's until then */
};

TAILQ_HEAD(stream_list, stream);

struct stream_config {
	struct listener *listener;
	enum channel channel;
	const char *peer;
	int local_fd;            /* taken */
	struct link_result link; /* taken */
	const char *cipher;
};

/* Begins to carry; the listener's list has it until it ends. */
void stream_start(const struct stream_config *config);

/* How long a stream may outlive its listener. */
#define STREAM_RELEASED_MS 30000U

/* Its listener goes. It ends by itself, at the deadline at the latest. */
void stream_release(struct stream *stream);

/* Cuts it; it ends a little later. */
void stream_abort(struct stream *stream, const struct failure *why);

/* Counters, age, peer and cipher. */
json_t *stream_describe(const struct stream *stream);

#endif
