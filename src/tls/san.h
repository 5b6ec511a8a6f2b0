/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_SAN_H
#define TLS_SAN_H

/*
 * san - the URIs in a certificate's subject alternative name, where a node's
 * identity stands. Private to src/tls.
 */

#include <stdbool.h>

#include <openssl/types.h>

/* Whether one of them is exactly uri; a NUL within is just another byte. */
bool tls_san_has(const X509 *cert, const char *uri);

/*
 * The first of them, the caller's to free, for showing: anything that is not
 * printable ASCII has become '?'. NULL when there is none.
 */
char *tls_san_first(const X509 *cert);

#endif
