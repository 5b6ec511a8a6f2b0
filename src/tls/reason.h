/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_REASON_H
#define TLS_REASON_H

/*
 * reason - why a handshake or a stream failed, as a code and as a sentence.
 *
 * The code is for logs, status and counters; each kind of refusal has its own.
 * It is the same on both sides: who detects a fault names it, and who receives
 * the alert about it gets the same code as far as the alert tells, with
 * by_peer set and a text that says so.
 */

#include <stdbool.h>

enum tls_reason {
	TLS_REASON_NONE,
	TLS_REASON_CERT_EXPIRED,
	TLS_REASON_CERT_NOT_YET_VALID,
	TLS_REASON_WRONG_CA,
	TLS_REASON_WRONG_NODE,
	TLS_REASON_NO_CERTIFICATE,
	TLS_REASON_WRONG_PURPOSE, /* extended key usage */
	TLS_REASON_BAD_CERTIFICATE,
	TLS_REASON_WRONG_ALPN,
	TLS_REASON_TLS_VERSION,
	TLS_REASON_NO_COMMON_CIPHER,
	TLS_REASON_NOT_TLS,
	TLS_REASON_BAD_RECORD, /* forged, garbled, malformed or too long */
	TLS_REASON_UNEXPECTED, /* a message that is not allowed there */
	TLS_REASON_PEER_ALERT, /* an alert that fits no code above */
	TLS_REASON_TRUNCATED,  /* TCP ended without close_notify */
	TLS_REASON_TOO_MUCH,   /* the peer passed a limit of ours */
	TLS_REASON_HANDSHAKE,  /* anything else */
	TLS_REASON_INTERNAL,   /* on our side: a bug or a broken library */
	TLS_REASON_COUNT,
};

struct tls_failure {
	enum tls_reason reason;
	bool by_peer; /* the other side refused us and sent an alert */
	char text[256];
};

/* A CamelCase code such as "CertificateExpired"; "None" for no failure. */
const char *tls_reason_name(enum tls_reason reason);

/* Fills failure (which may be NULL) and returns -1. */
int tls_failure_set(struct tls_failure *failure, enum tls_reason reason,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Fills failure from the number of an alert that came from the peer, and
 * returns -1.
 */
int tls_failure_alert(struct tls_failure *failure, unsigned alert);

#endif
