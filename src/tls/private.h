/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_PRIVATE_H
#define TLS_PRIVATE_H

/*
 * private - doors for tests that no program may use.
 */

#include <stdint.h>

#ifndef TLS_ALLOW_PRIVATE
#error "only for src/tls and for tests"
#endif

struct tls_context;
struct tls_stream;

/*
 * The peer need not speak ALPN, as for programs that cannot. Before the first
 * session of ctx only.
 */
void tls_context_without_alpn(struct tls_context *ctx);

/* How often a peer's chain was verified in full, and how often remembered. */
void tls_context_verified(struct tls_context *ctx, unsigned *ret_full,
			  unsigned *ret_remembered);

/*
 * The limit on records under one key, instead of 2^23. The stream starts a
 * KeyUpdate before a batch that could pass it.
 */
void tls_stream_set_limit(struct tls_stream *s, uint64_t records);

/*
 * Makes the stream send a KeyUpdate with its next seal, and ask the peer for
 * one.
 */
void tls_stream_start_update(struct tls_stream *s);

/* How many KeyUpdates were sent and received; record engine only. */
void tls_record_updates(const struct tls_stream *base, unsigned *ret_sent,
			unsigned *ret_received);

/*
 * Takes the named implementation of AES-GCM, "evp", "libgcrypt" or
 * "intel-ipsec-mb", for what is made from now on, even where it is not the
 * fastest. -1 when this build or this host does not have it; nothing has
 * changed then.
 */
int tls_aead_force(const char *name);

/* The name of the one in use. */
const char *tls_aead_chosen(void);

#endif
