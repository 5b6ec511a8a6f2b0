/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_PROTO_JSON_H
#define META_PROTO_JSON_H

/*
 * proto_json - a protocol buffer's message as JSON, by its descriptor.
 *
 * Only for proto.c. The conventions of the .proto files are told in meta.proto.
 */

#include <protobuf-c/protobuf-c.h>

#include "base/js.h"

struct status;

/* A new object, or NULL and 400: a text that is not UTF-8, a time that cannot
 * be written. */
json_t *proto_json(const ProtobufCMessage *message, struct status *st);

#endif
