/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_PROTO_H
#define META_PROTO_H

/*
 * proto - objects that clients send as protocol buffers
 * (application/vnd.kubernetes.protobuf), as the JSON they stand for.
 *
 * Clients written in Go choose this form by themselves for the kinds that are
 * built in. What comes out is what the same client would have sent as JSON.
 *
 * Threading: any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct status;

/* An object may take this much memory while it is decoded; a few bytes on the
 * wire can stand for a large structure. */
#define PROTO_MAX_MEMORY (64U * 1024 * 1024)

/* Whether data begins as an object in this form does. */
bool proto_is(const uint8_t *data, size_t len);

/*
 * Decodes one object; *ret is then an object with apiVersion and kind, and
 * the caller's. 400 if the data is damaged or too large to be decoded, 415 if
 * it is of a kind that has no such form, as those that are defined by
 * CustomResourceDefinitions.
 */
int proto_decode(const uint8_t *data, size_t len, json_t **ret,
		 struct status *st);

#endif
