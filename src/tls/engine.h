/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_ENGINE_H
#define TLS_ENGINE_H

/*
 * engine - what stands behind a stream: the own record layer or libssl.
 *
 * stream.c cuts the wire bytes into records, gathers plaintext, and keeps the
 * state that both share (closed, failed, alert due); an engine seals and opens
 * single records. Private to src/tls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/types.h>

#include "tls/context.h"
#include "tls/stream.h"
#include "tls/suite.h"

/* Alerts that are sent or understood here (RFC 8446, 6). */
enum tls_alert {
	TLS_ALERT_CLOSE_NOTIFY = 0,
	TLS_ALERT_UNEXPECTED_MESSAGE = 10,
	TLS_ALERT_BAD_RECORD_MAC = 20,
	TLS_ALERT_RECORD_OVERFLOW = 22,
	TLS_ALERT_ILLEGAL_PARAMETER = 47,
	TLS_ALERT_DECODE_ERROR = 50,
	TLS_ALERT_INTERNAL_ERROR = 80,
	TLS_ALERT_USER_CANCELED = 90,
};

enum tls_content {
	TLS_CONTENT_CHANGE_CIPHER_SPEC = 20,
	TLS_CONTENT_ALERT = 21,
	TLS_CONTENT_HANDSHAKE = 22,
	TLS_CONTENT_DATA = 23,
};

/* What an opened record was. */
struct tls_record {
	const uint8_t *plain; /* data, inside the record's own bytes */
	size_t len;
	bool data;   /* application data, if only of length 0 */
	bool closed; /* close_notify */
};

struct tls_stream_ops {
	/*
	 * plain_len bytes lie in the slots of buf; 0 asks for what is due
	 * otherwise.
	 */
	int (*seal)(struct tls_stream *s, uint8_t *buf, size_t plain_len,
		    struct iovec *ret_wire, struct tls_failure *failure);
	/* One alert into the headroom of buf. */
	int (*seal_alert)(struct tls_stream *s, uint8_t *buf,
			  enum tls_alert alert, struct iovec *ret_wire,
			  struct tls_failure *failure);
	/*
	 * One whole record with a valid header. On -1 the engine has set
	 * failure, and s->alert if it wants one sent.
	 */
	int (*open)(struct tls_stream *s, uint8_t *record, size_t len,
		    struct tls_record *ret, struct tls_failure *failure);
	bool (*wants_to_send)(const struct tls_stream *s);
	void (*free)(struct tls_stream *s);
};

/*
 * AES-GCM is sound for 2^24.5 full records under one key (RFC 8446, 5.5); this
 * is 128 GiB, well before.
 */
#define TLS_KEY_RECORDS (UINT64_C(1) << 23)

/* The first member of an engine's own struct. */
struct tls_stream {
	const struct tls_stream_ops *ops;
	enum tls_suite suite;
	bool write_closed; /* close_notify or a fatal alert was sealed */
	bool read_closed;  /* close_notify came */
	bool alert_due;    /* alert below is to be sent */
	enum tls_alert alert;
	unsigned idle_records;       /* in a row, without data */
	uint64_t offloaded_records;  /* sent by the kernel under this key */
	uint64_t limit;              /* of records sent under one key */
	bool update_due;             /* a KeyUpdate is to be sent */
	bool ask_peer;               /* it is to ask for one in return */
	struct tls_failure *failure; /* sticky; NULL while all is well */
};

/* For engines: refuses what came, and has the peer told so. Returns -1. */
int tls_stream_refuse(struct tls_stream *s, enum tls_alert alert,
		      enum tls_reason reason, const char *text,
		      struct tls_failure *failure);

/* The first failure of a stream counts; every later call repeats it. */
void tls_stream_fail(struct tls_stream *s, const struct tls_failure *failure);

struct tls_secrets {
	uint8_t client[TLS_SECRET_MAX];
	uint8_t server[TLS_SECRET_MAX];
};

/*
 * The engines. The record engine copies the secrets; NULL when the library
 * refuses. The libssl engine takes ssl over, whose BIOs are memory BIOs.
 */
struct tls_stream *tls_record_new(enum tls_role role, enum tls_suite suite,
				  const struct tls_secrets *secrets);
struct tls_stream *tls_libssl_new(SSL *ssl, enum tls_suite suite);

/*
 * For the kernel's record layer, which only streams of the record engine can
 * go over to: the keys, the step to the next one, and what to do with a record
 * that is not data.
 */
struct tls_record_keys {
	uint8_t key[TLS_KEY_MAX];
	uint8_t iv[TLS_IV_LEN];
	uint64_t seq; /* of the next record */
};

bool tls_record_is(const struct tls_stream *base);
int tls_record_export(const struct tls_stream *base, bool out,
		      struct tls_record_keys *ret);
int tls_record_next_out_key(struct tls_stream *base);
int tls_record_take(struct tls_stream *base, uint8_t type, const uint8_t *plain,
		    size_t len, struct tls_record *ret,
		    struct tls_failure *failure);
/* How often the peer has changed its key. */
unsigned tls_record_in_updates(const struct tls_stream *base);

/* KeyUpdate as a message; ask is 1 to ask for one in return. */
#define TLS_KEY_UPDATE(ask)        \
	{                          \
		24, 0, 0, 1, (ask) \
	}
#define TLS_KEY_UPDATE_LEN 5

#endif
