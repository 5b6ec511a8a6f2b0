/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

/*
 * proxy - all listeners of this process and what they share.
 *
 * A listener is known by its side and key. Starting it again with the same
 * arguments changes nothing and answers the same; with others it is replaced,
 * and its streams are cut. Listeners belong to the process, not to the client
 * that started them: who controls the proxy may go and come back, list what
 * runs and carry on.
 *
 * Threading: only from the main loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/js.h"
#include "proxy/counters.h"
#include "proxy/reason.h"
#include "proxy/spec.h"
#include "proxy/stream.h"
#include "tls/session.h"

struct creds;
struct err;
struct listener;
struct loop;
struct opener;
struct workers;

/* Defaults of the options below. */
#define PROXY_DIAL_TIMEOUT_MS 10000
#define PROXY_HANDSHAKE_TIMEOUT_MS 10000
#define PROXY_PEER_TIMEOUT_MS 15000
#define PROXY_MAX_CONNECTIONS 4096
#define PROXY_MAX_HANDSHAKES 128

struct proxy_options {
	unsigned dial_timeout_ms;      /* TCP connection, and local socket */
	unsigned handshake_timeout_ms; /* TLS, and the request and answer */
	unsigned peer_timeout_ms;      /* a silent peer is dead after this */
	unsigned max_connections;      /* per listener, streams included */
	unsigned max_handshakes;       /* per listener, not yet secure */
	enum tls_engine engine;
	bool ktls;        /* the kernel makes the records instead */
	const char *bind; /* see bindaddr.h */
	struct tcplisten_range range;
};

TAILQ_HEAD(listener_list, listener);

/* TLS handshakes of one side. A target that does not want the certificate of a
 * source says so after the source's part is done: there it was made. */
struct handshakes {
	uint64_t made;
	uint64_t failed[REASON_COUNT];
};

struct proxy {
	struct loop *loop;
	struct workers *workers;
	struct opener *opener;
	struct creds *creds;
	struct proxy_options options;
	struct listener_list listeners;
	size_t n_listeners;
	struct stream_list loose; /* their listeners are gone */
	size_t n_streams;         /* running, of listeners that are gone too */
	uint64_t next_id;
	uint64_t started_ms;
	bool draining;
	struct counts ended; /* of streams that are over */
	uint64_t streams_ended;
	uint64_t failures[REASON_COUNT]; /* refused and broken */
	struct handshakes handshakes[SIDE_COUNT];
	/* Called when the last listener or stream of a draining proxy has
	 * gone, and when the last stream of one that is being ended has. */
	void (*idle)(void *arg);
	void *idle_arg;
};

void proxy_init(struct proxy *proxy, struct loop *loop);

/* All listeners and their streams are cut; idle() follows. */
void proxy_end(struct proxy *proxy);

/* Takes the spec, on failure too. *ret_listener is the proxy's. */
int proxy_start(struct proxy *proxy, struct spec *spec,
		struct listener **ret_listener, struct err *err);

/* Closes its sockets; cuts its streams, or lets them go on to their end.
 * ERR_NOT_FOUND when there is none. */
int proxy_stop(struct proxy *proxy, enum side side, const char *key, bool cut,
	       struct err *err);
struct listener *proxy_find(const struct proxy *proxy, enum side side,
			    const char *key);

/* No new listeners from now on; idle() once the last one has gone. */
void proxy_drain(struct proxy *proxy);

/* Calls idle() if there is nothing left to wait for. */
void proxy_check_idle(struct proxy *proxy);

#endif
