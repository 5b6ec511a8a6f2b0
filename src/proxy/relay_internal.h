/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_RELAY_INTERNAL_H
#define PROXY_RELAY_INTERNAL_H

/*
 * relay_internal - what the relay and its pumps share. Only for relay.c,
 * pump_tls.c and pump_splice.c.
 */

#include <sys/uio.h>

#include "proxy/pool.h"
#include "proxy/reason.h"
#include "proxy/relay.h"
#include "proxy/turns.h"
#include "tls/stream.h"

/* What a half waits for after it has done what it could. */
enum flow {
	FLOW_SOURCE, /* more bytes to read */
	FLOW_SINK,   /* room to write */
	FLOW_LIMIT,  /* tokens; the relay's limit timer is running */
	FLOW_ENDED,  /* the end has been passed on; nothing more to do */
	FLOW_FAILED, /* failure has been set on the relay */
};

/*
 * How many full reads a half does before others get their turn. At 256 KiB
 * each this is well below a millisecond's worth of encryption.
 */
#define RELAY_READS 4

/* A read at least this large is likely to find more at once. */
#define RELAY_EAGER_BYTES (64U * 1024)

/* A stream that moves less has little to say, and gives its turn back. */
#define RELAY_BULK_BYTES (16U * 1024)

/* One direction. Either the buffer or the pipe is used. */
struct half {
	struct relay *relay;
	int from_fd;
	int to_fd;
	bool outward;
	bool source_ended; /* the end has been read */
	bool discard;      /* the sink is gone; what comes is dropped */
	enum flow flow;
	uint64_t blocked_ns; /* since when the sink is full, or 0 */
	size_t moved;        /* bytes in the last run */

	uint8_t *buf;   /* borrowed, NULL when empty */
	size_t rest_at; /* inward: where the wire bytes not yet opened are */
	size_t rest_len;
	bool rest_complete;             /* there are whole records among them */
	struct iovec out[TLS_OPEN_IOV]; /* what waits to be written */
	int out_at;
	int out_count;

	struct pipe_pair pipe; /* borrowed, -1 when empty */
	size_t pipe_len;
};

/* How the bytes of a relay cross. Each returns what the half waits for. */
struct pump {
	enum flow (*outward)(struct half *half);
	enum flow (*inward)(struct half *half);
};

struct relay {
	struct relay_config config;
	const struct pump *pump;
	struct loop *loop;
	struct pool *pool;
	struct loop_io *local_io;
	struct loop_io *net_io;
	struct loop_timer *watch_timer;
	struct loop_timer *limit_timer;
	uint8_t *head; /* owned copy of config.head until it is used */
	size_t head_len;
	struct half out;
	struct half in;
	struct turn turn; /* the outward half's, to read in bulk */
	bool offloaded;   /* the kernel seals and opens the records */
	bool probing;     /* the peer is alive but its window is closed */
	bool ended;       /* done() has been called */
	uint64_t linger_until_ms;
	struct failure failure;
};

extern const struct pump pump_tls;
extern const struct pump pump_splice;

/*
 * How many bytes the half may read now, at most want; 0 means FLOW_LIMIT, and
 * the timer is running. What is not read goes back with relay_unused().
 */
size_t relay_allowance(struct half *half, size_t want);
void relay_unused(struct half *half, size_t allowed, size_t used);

/* Counts what has reached the sink. */
void relay_count(struct half *half, size_t bytes);

/*
 * Turns errno of a read or write on the half into what to do: FLOW_SOURCE or
 * FLOW_SINK to wait, FLOW_FAILED, or FLOW_ENDED when the local program has
 * gone, which is not a failure: reading then counts as the end, and writing
 * as discarding.
 */
enum flow relay_read_error(struct half *half);
enum flow relay_write_error(struct half *half);

/* Tells the sink that no more will come. */
void relay_pass_end(struct half *half);

enum flow relay_fail(struct half *half, enum reason reason, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));

#endif
