/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_VERDICT_H
#define TLS_VERDICT_H

/*
 * verdict - libssl's and X.509's error codes turned into reasons. Private to
 * src/tls.
 */

#include <openssl/types.h>

#include "tls/reason.h"

/*
 * Why a handshake by ssl failed, from its verification result and OpenSSL's
 * error queue, which is emptied. Returns -1.
 */
int tls_verdict(const SSL *ssl, struct tls_failure *failure);

#endif
