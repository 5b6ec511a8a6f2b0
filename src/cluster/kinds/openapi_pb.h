/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_OPENAPI_PB_H
#define CLUSTER_KINDS_OPENAPI_PB_H

/*
 * openapi_pb - an OpenAPI v2 document in the only form that kubectl up to 1.26
 * takes: protobuf, the message openapi.v2.Document of gnostic.
 */

#include <stddef.h>

#include "base/js.h"

/* To be freed. What the message has no place for is left out. */
char *openapi_pb(const json_t *swagger, size_t *ret_len);

#endif
