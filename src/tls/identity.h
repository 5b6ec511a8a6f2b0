/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_IDENTITY_H
#define TLS_IDENTITY_H

/*
 * identity - the name of a node as it stands in its certificate.
 *
 * It is a URI in the subject alternative name. Identities are equal when all
 * their bytes are.
 */

#include <stddef.h>

struct err;

#define TLS_IDENTITY_PREFIX "spiffe://ferry.io/node/"
#define TLS_IDENTITY_SIZE 512 /* including the NUL */

/*
 * Writes the identity of a node to buf: TLS_IDENTITY_PREFIX and the name for a
 * bare node name (letters, digits, '.', '_', '-'; 253 at most); a URI
 * ("scheme://...") as it is. Anything else is ERR_INVALID.
 */
int tls_identity_uri(const char *node_or_uri, char *buf, size_t size,
		     struct err *err);

#endif
