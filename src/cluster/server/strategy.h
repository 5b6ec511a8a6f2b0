/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STRATEGY_H
#define CLUSTER_STRATEGY_H

/*
 * strategy - what is special about a built-in kind when it is written.
 *
 * Most kinds need nothing: schema and metadata say all. The others have a row
 * in a table; a function that is NULL has nothing to do.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct call;
struct causes;
struct delete_options;
struct kind;
struct registry;
struct status;

/* What a function may want to look at besides the object. */
struct strategy_env {
	const struct registry *registry;
};

struct strategy {
	const char *group;
	const char *plural;
	/* Before admission; the status of a new object is set here. */
	void (*prepare_create)(json_t *object);
	void (*prepare_update)(json_t *object, const json_t *old);
	/* old is NULL for a create. May fill in what follows from the rest. */
	void (*validate)(const struct strategy_env *env, json_t *object,
			 const json_t *old, struct causes *causes);
	/* When it is deleted for the first time. */
	void (*prepare_delete)(json_t *object);
	/* Whether it may be deleted at all. */
	int (*check_delete)(const json_t *object, struct status *st);
	/* How long a deleted object stays for somebody to clean up, in
	 * seconds; 0: gone at once. */
	int64_t (*grace)(const json_t *object, const struct delete_options *);
	/* A new one may bring its status along, as nodes do. */
	bool keeps_status;
	/* Its deletion answers with the object instead of a Status. */
	bool delete_returns_object;
};

/* Never NULL. */
const struct strategy *strategy_for(const struct kind *kind);

#endif
