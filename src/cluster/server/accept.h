/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ACCEPT_H
#define CLUSTER_ACCEPT_H

/*
 * accept - in which form the client wants its answer.
 *
 * The Accept header names media types in order of preference; the first that
 * the server can make wins. Protobuf is never made: every client that asks for
 * it names JSON behind it.
 */

#include <stdbool.h>
#include <stddef.h>

struct status;

enum accept_format {
	ACCEPT_JSON,
	ACCEPT_YAML,
};

enum accept_shape {
	ACCEPT_OBJECT,  /* as it is stored */
	ACCEPT_TABLE,   /* meta.k8s.io Table */
	ACCEPT_PARTIAL, /* only metadata; a list of them for a list */
};

struct accept {
	enum accept_format format;
	enum accept_shape shape;
	const char *version; /* of Table or PartialObjectMetadata; static */
};

/*
 * header may be NULL or empty: JSON. With `shapes` false only plain objects can
 * be made (discovery, reviews). -1 with 406 when nothing fits.
 */
int accept_parse(const char *header, bool shapes, struct accept *ret,
		 struct status *st);

/* One clause of a media type header: the type, and parameters by name. */
struct media_type {
	char type[96];
	char as[32];
	char version[16];
	char group[64];
};

/*
 * Takes the next clause off *cursor; false at the end. Parameters other than
 * as, v and g are passed over, and a clause too long for its field never
 * matches anything.
 */
bool media_type_next(const char **cursor, struct media_type *ret);

#endif
