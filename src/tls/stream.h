/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_STREAM_H
#define TLS_STREAM_H

/*
 * stream - sealing and opening TLS 1.3 records after the handshake.
 *
 * A stream has no buffers: the caller brings one of TLS_BUF_SIZE bytes for as
 * long as a batch is in flight. To send, the buffer is a row of slots
 *
 *	headroom | header plain... type tag | header plain... type tag | ...
 *
 * and readv() puts the plaintext where it is to be encrypted; the result is one
 * contiguous piece. To receive, wire bytes are read to the front of a buffer
 * and decrypted where they lie. Nothing is copied, except small records that
 * are moved together so that few pieces remain.
 *
 * The two directions are independent: one may close while the other goes on.
 * Keys are updated by the stream itself, in time; tls_stream_wants_to_send()
 * tells when something is due though there is no data.
 *
 * Threading: one thread at a time per stream, both directions together.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "tls/reason.h"

struct tls_stream;

#define TLS_RECORD_HEADER 5
#define TLS_RECORD_PLAIN 16384
/* A record may carry this much beyond its plaintext (RFC 8446, 5.2). */
#define TLS_RECORD_EXPANSION 256
#define TLS_RECORD_MAX \
	(TLS_RECORD_HEADER + TLS_RECORD_PLAIN + TLS_RECORD_EXPANSION)

#define TLS_BATCH_RECORDS 16
#define TLS_BATCH_PLAIN (TLS_BATCH_RECORDS * TLS_RECORD_PLAIN)
/* A full record as we send it: header, plaintext, type, tag. */
#define TLS_SLOT (TLS_RECORD_HEADER + TLS_RECORD_PLAIN + 1 + 16)
/* Room for one KeyUpdate or alert record before the first slot. */
#define TLS_HEADROOM 32
/* Holds a batch to send, or as many received records of any legal size. */
#define TLS_BUF_SIZE (TLS_HEADROOM + TLS_BATCH_RECORDS * TLS_RECORD_MAX)

/* Pieces of plaintext that one tls_stream_open() can yield. */
#define TLS_OPEN_IOV 32

/*
 * Where to readv() up to max bytes of plaintext (1 to TLS_BATCH_PLAIN) for
 * sealing. Returns the number of pieces.
 */
int tls_stream_plain_iov(uint8_t *buf, size_t max,
			 struct iovec iov[TLS_BATCH_RECORDS]);

/*
 * Seals plain_len bytes that were read through tls_stream_plain_iov(). The wire
 * bytes are one piece, inside buf or in the stream's own memory, valid until
 * buf is changed or the stream seals again; opening records leaves them alone.
 * With plain_len 0 the result is what is due otherwise (a KeyUpdate, an alert
 * after a failed open), possibly nothing, and TLS_HEADROOM bytes of buf are
 * enough.
 *
 * -1 after an own close or a failure: nothing can be sent any more.
 */
int tls_stream_seal(struct tls_stream *s, uint8_t *buf, size_t plain_len,
		    struct iovec *ret_wire, struct tls_failure *ret_failure);

/*
 * close_notify: we send no more, but go on receiving. TLS_HEADROOM bytes of buf
 * are enough.
 */
int tls_stream_seal_close(struct tls_stream *s, uint8_t *buf,
			  struct iovec *ret_wire,
			  struct tls_failure *ret_failure);

struct tls_opened {
	struct iovec iov[TLS_OPEN_IOV]; /* the plaintext, inside buf */
	int iovcnt;
	size_t plain_len;
	size_t consumed; /* bytes of buf that are done with */
	/*
	 * At least so many bytes are missing until the record that begins at
	 * consumed is complete. 0 when no record begins there, or when it is
	 * complete already: then call again with the rest.
	 */
	size_t need;
	bool closed; /* the peer sent close_notify: nothing more will come */
};

/*
 * Opens the complete records at the front of buf, in place: as many as there
 * are and as fit in iov, but at most max_records that carry data (0: no such
 * limit). Not a byte behind them is touched.
 *
 * -1 when a record is refused or the peer sent an alert. Data before it has
 * been delivered by then: it comes with a call that succeeds and the failure
 * with the next one. The stream stays failed; an alert for the peer can be
 * fetched with tls_stream_seal(), plain_len 0.
 */
int tls_stream_open(struct tls_stream *s, uint8_t *buf, size_t len,
		    unsigned max_records, struct tls_opened *ret,
		    struct tls_failure *ret_failure);

/*
 * The TCP connection ended. 0 if the peer had said so by close_notify, -1 with
 * failure filled (Truncated) if not.
 */
int tls_stream_eof(const struct tls_stream *s, struct tls_failure *ret_failure);

/* Whether tls_stream_seal() with plain_len 0 would yield something. */
bool tls_stream_wants_to_send(const struct tls_stream *s);

/* "TLS_AES_128_GCM_SHA256"; static. */
const char *tls_stream_cipher(const struct tls_stream *s);

/* Wipes the keys. NULL is fine. */
void tls_stream_free(struct tls_stream *s);

#endif
