/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_OPENAPI_H
#define CLUSTER_KINDS_OPENAPI_H

/*
 * openapi - the API's description of itself: /openapi/v3 and /openapi/v2.
 *
 * Documents are made when asked for and kept until the registry's generation
 * changes.
 *
 * Threading: the main loop's thread.
 */

#include <stdbool.h>

#include "cluster/kinds/document.h"

struct openapi;
struct registry;

struct openapi *openapi_new(const struct registry *registry);
void openapi_free(struct openapi *openapi);

/* /openapi/v3: which documents there are. */
const struct document *openapi_v3_index(struct openapi *openapi);

/*
 * One of them, "api/v1" or "apis/G/V", NULL if there is none. A request with
 * another hash than the document's is redirected to the right one by the
 * server; one with the right hash may be cached for good.
 */
const struct document *openapi_v3(struct openapi *openapi, const char *name);

/* /openapi/v2 as protobuf (what kubectl up to 1.26 wants), or as JSON. */
const struct document *openapi_v2(struct openapi *openapi, bool protobuf);

#endif
