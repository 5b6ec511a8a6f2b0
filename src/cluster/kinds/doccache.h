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
};

/* What a document is called, and of which state of its sources it is. */
struct docname {
	const char *name;
	uint64_t state;
};

/* NULL if there is none of the name and state; an older one is forgotten. */
const struct document *doccache_get(struct doccache *cache,
				    const struct docname *name);
/* There must be none of the name: doccache_get() has seen to that. data is
 * taken; content_type stays the caller's and is a literal. */
const struct document *doccache_put(struct doccache *cache,
				    const struct docname *name,
				    const char *content_type, char *data,
				    size_t len);
/* The same of a value as compact text with a newline; the reference is
 * taken. */
const struct document *doccache_put_json(struct doccache *cache,
					 const struct docname *name,
					 const char *content_type,
					 json_t *value);
/* Forgets the documents whose sources are in another state now. */
void doccache_sweep(struct doccache *cache,
		    uint64_t (*state)(const char *name, void *arg), void *arg);
void doccache_done(struct doccache *cache);

#endif
