/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_DOCCACHE_H
#define CLUSTER_KINDS_DOCCACHE_H

/*
 * doccache - documents by name, until what they were made from changes.
 *
 * Threading: the main loop's thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "base/map.h"
#include "cluster/kinds/document.h"

/* { 0 } is an empty one. */
struct doccache {
	struct map map;
	uint64_t generation;
};

/* Forgets everything if generation is not the one of last time. */
void doccache_sync(struct doccache *cache, uint64_t generation);

/* NULL if there is none of the name. */
const struct document *doccache_get(const struct doccache *cache,
				    const char *name);
/* There must be none of the name. data is taken; content_type stays the
 * caller's and is a literal. */
const struct document *doccache_put(struct doccache *cache, const char *name,
				    const char *content_type, char *data,
				    size_t len);
/* The same of a value as compact text with a newline; the reference is
 * taken. */
const struct document *doccache_put_json(struct doccache *cache,
					 const char *name,
					 const char *content_type,
					 json_t *value);
void doccache_done(struct doccache *cache);

#endif
