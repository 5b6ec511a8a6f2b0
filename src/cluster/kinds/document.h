/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_DOCUMENT_H
#define CLUSTER_KINDS_DOCUMENT_H

/*
 * document - an answer that is the same for everybody until the kinds change:
 * discovery and OpenAPI. Owned by who made it, valid until the loop runs again.
 */

#include <stddef.h>

struct document {
	const char *content_type;
	const char *etag; /* with its quotes, as in the header */
	const char *hash; /* the same without quotes */
	const char *data; /* followed by a NUL that does not count */
	size_t len;
};

#endif
