/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_SESSION_H
#define TLS_SESSION_H

/*
 * session - one handshake, over memory.
 *
 * The caller moves the bytes: it gives what it received to tls_session_step()
 * and sends what tls_session_output() offers, until the step says done or
 * failed. Then tls_session_finish() turns the session into a stream.
 *
 *	for (;;) {
 *		progress = tls_session_step(s, in, len, &failure);
 *		send all of tls_session_output(s, &data), tls_session_sent()
 *		if (progress != TLS_WANT_READ)
 *			break;
 *		len = receive up to TLS_SESSION_STEP_MAX bytes into in
 *	}
 *
 * In TLS 1.3 the client is done before the server has looked at the client's
 * certificate. A refusal by the server therefore reaches a client that is
 * already done: as a failure of its first tls_stream_open(), with the same
 * reason codes. A client is sure of the server's consent only when it has
 * opened a first record.
 *
 * Threading: one thread at a time per session.
 */

#include <stddef.h>
#include <stdint.h>

#include "tls/context.h"
#include "tls/reason.h"
#include "tls/stream.h"

struct tls_session;

/* The most that one tls_session_step() takes. */
#define TLS_SESSION_STEP_MAX 16384
/* The most a peer may send before the handshake ends; it fails beyond. */
#define TLS_HANDSHAKE_MAX (64 * 1024)
/* The most that tls_session_finish() hands back. */
#define TLS_SESSION_LEFT_MAX TLS_SESSION_STEP_MAX

enum tls_progress {
	TLS_WANT_READ, /* send the output, then give it more input */
	TLS_DONE,
	TLS_FAILED, /* the output, if any, is the alert: worth sending */
};

/* Which code seals and opens records after the handshake. */
enum tls_engine {
	TLS_ENGINE_RECORD, /* the own record layer */
	TLS_ENGINE_LIBSSL, /* libssl's, slower and larger */
	TLS_ENGINE_COUNT,
};

/*
 * Starts in the context's role; holds a reference to ctx. Exactly peer_uri is
 * accepted as the other side's identity (see tls/identity.h); it is copied.
 */
struct tls_session *tls_session_new(struct tls_context *ctx,
				    const char *peer_uri);

/* For giving up early; also after a failure. NULL is fine. */
void tls_session_free(struct tls_session *s);

/*
 * Goes as far as the input allows. len 0 starts a client. All input is taken.
 * ret_failure is filled when the result is TLS_FAILED, and the session stays
 * failed. Not to be called after TLS_DONE.
 */
enum tls_progress tls_session_step(struct tls_session *s, const uint8_t *in,
				   size_t len, struct tls_failure *ret_failure);

/*
 * What is to be sent to the peer now; 0 when nothing is. Valid until the next
 * call on s. tls_session_sent() counts what was sent.
 */
size_t tls_session_output(struct tls_session *s, const uint8_t **ret_data);
void tls_session_sent(struct tls_session *s, size_t len);

/*
 * The TCP connection ended before the handshake did: fills failure (Truncated)
 * and returns -1.
 */
int tls_session_eof(struct tls_session *s, struct tls_failure *ret_failure);

/* After TLS_DONE: the peer's identity and the name of the cipher suite. */
const char *tls_session_peer(const struct tls_session *s);
const char *tls_session_cipher(const struct tls_session *s);

/*
 * After TLS_DONE and with all output sent: frees the session and returns the
 * stream, the caller's. Bytes that came behind the handshake are stored in
 * left, at least TLS_SESSION_LEFT_MAX large, and their number in *ret_left:
 * they are the first that tls_stream_open() must see.
 */
struct tls_stream *tls_session_finish(struct tls_session *s,
				      enum tls_engine engine, uint8_t *left,
				      size_t left_size, size_t *ret_left);

#endif
