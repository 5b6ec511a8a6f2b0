/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_LINK_H
#define PROXY_LINK_H

/*
 * link - a TCP connection to the other proxy until it carries a stream.
 *
 *	handshake -> secure() -> one message each way -> link_take()
 *
 * The link does the TLS handshake, tells its owner, sends the one message the
 * owner has for the peer and delivers the one the peer has. Then the owner
 * takes descriptor, keys and whatever came behind, and frees the link.
 *
 * When anything fails, the link sends the alert, lets the peer read it (a
 * connection closed over unread bytes is reset, and the alert lost), and
 * calls failed() after that, at most LINK_FAREWELL_MS later.
 *
 * Threading: only from the loop's thread. Callbacks come from the loop, never
 * from inside a call, and may free the link, except secure().
 */

#include <stddef.h>
#include <stdint.h>

#include "proxy/reason.h"
#include "tls/session.h"

struct link;
struct loop;

#define LINK_FAREWELL_MS 1000

struct link_config {
	struct loop *loop;
	int fd;                      /* connected, non-blocking; taken */
	struct tls_context *context; /* says which side this is */
	const char *peer;            /* the identity the other side must have */
	enum tls_engine engine;
	void (*secure)(void *arg);
	void (*message)(const uint8_t *data, size_t len, void *arg);
	/* What link_send() was given has left; may be NULL. */
	void (*sent)(void *arg);
	void (*failed)(const struct failure *failure, void *arg);
	void *arg;
};

/* What remains of a link that succeeded. All of it is the taker's. */
struct link_result {
	int fd;
	struct tls_stream *tls;
	uint8_t *head; /* what came behind the peer's message; to be freed */
	size_t head_len;
};

struct link *link_new(const struct link_config *config);
/* Closes the connection at once. NULL is fine. */
void link_free(struct link *link);

/*
 * Fails with reason unless the next step (secure, message or sent) has been
 * reached by then. Each replaces the one before.
 */
void link_deadline(struct link *link, unsigned timeout_ms, enum reason reason,
		   const char *what);

/* Once, after secure(): sends data as one record. */
void link_send(struct link *link, const uint8_t *data, size_t len);

/* Sends data, then ends the link: failed() is called with the failure. */
void link_refuse(struct link *link, const uint8_t *data, size_t len,
		 const struct failure *failure);

/* Ends the link for a reason of the owner's. */
void link_fail(struct link *link, const struct failure *failure);

/* After secure(). */
const char *link_cipher(const struct link *link);

/* After message() and with everything sent. The link must be freed after. */
void link_take(struct link *link, struct link_result *ret_result);

#endif
