/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_LIBRARY_H
#define TLS_LIBRARY_H

/*
 * library - the part of OpenSSL that handshakes of TLS 1.3 need. Private to
 * src/tls.
 *
 * For the public key of each certificate that a peer sends, OpenSSL 3.0 goes
 * through all algorithms that it has, and asks each of its decoders whether it
 * would do: a sixth of the time that a mutual handshake takes. So handshakes
 * have a library context of their own, and in it OpenSSL's default provider
 * with most of its algorithms hidden. Those that are shown are its own and do
 * what they always do.
 *
 * See docs/decisions/0019-part-of-openssl.md.
 */

#include <openssl/types.h>

/*
 * The library context for SSL_CTX_new_ex(), made at the first call and kept.
 * NULL, which stands for all of OpenSSL and is merely slower, when it cannot be
 * made. Any thread.
 */
OSSL_LIB_CTX *tls_library(void);

#endif
