/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_RENDER_H
#define CLUSTER_RENDER_H

/*
 * render - stored objects as the text a client asked for.
 *
 * The usual case, plain JSON in the stored version, is a copy of the stored
 * text. Everything else (another version, only metadata, the row of a Table)
 * is made from it, object by object, so that a list of any length can be
 * written piece by piece.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"
#include "cluster/server/accept.h"

struct buf;
struct kind_version;
struct object;
struct query;
struct status;

enum render_include {
	RENDER_METADATA, /* the default */
	RENDER_OBJECT,
	RENDER_NONE,
};

struct render {
	enum accept_shape shape;
	const char *meta_version;    /* "v1", "v1beta1" of meta.k8s.io */
	enum render_include include; /* what a row of a Table carries */
	const struct kind_version *version;
};

/* version must outlive ret. -1: a wrong includeObject. */
int render_init(const struct accept *accept, const struct kind_version *version,
		const struct query *query, struct render *ret,
		struct status *st);

/* An item of a list, or a row of a Table. */
void render_item(const struct render *render, const struct object *object,
		 struct buf *out);
void render_item_json(const struct render *render, const json_t *object,
		      struct buf *out);

/*
 * An answer or an event about one object. columns: whether a Table says what
 * its columns are (in a watch only the first event does).
 */
void render_one(const struct render *render, const struct object *object,
		bool columns, struct buf *out);
void render_one_json(const struct render *render, const json_t *object,
		     bool columns, struct buf *out);

/* What stands before and behind the items, which are separated by commas. */
struct render_list {
	uint64_t rv;
	const char *continue_; /* "" on the last page */
	bool has_remaining;
	uint64_t remaining;
};
void render_list_head(const struct render *render,
		      const struct render_list *list, struct buf *out);
void render_list_tail(struct buf *out);

/* The object of a BOOKMARK event. initial: the end of the initial ones. */
void render_bookmark(const struct render *render, uint64_t rv, bool initial,
		     struct buf *out);

#endif
