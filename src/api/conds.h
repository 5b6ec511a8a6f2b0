/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CONDS_H
#define API_CONDS_H

/*
 * conds - the conditions of a view, in little memory; kube/conditions.h does
 * the same on JSON.
 *
 * Of a type that is there twice the first counts. At most CONDS_MAX are kept.
 * Threading: a list belongs to one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "kube/conditions.h"

#define CONDS_MAX 64

enum cond_status {
	COND_UNKNOWN,
	COND_TRUE,
	COND_FALSE,
};

struct cond {
	char *type;
	enum cond_status status;
	char *reason;  /* "" for none */
	char *message; /* "" for none */
	int64_t since_us;
};

struct conds {
	struct cond *list;
	size_t len;
};

/* array may be NULL. What is no condition is left out. */
void conds_decode(const json_t *array, struct conds *ret_conds);
void conds_done(struct conds *conds);

/* NULL when it is not there. */
const struct cond *conds_find(const struct conds *conds, const char *type);
bool conds_is_true(const struct conds *conds, const char *type);
bool conds_is_false(const struct conds *conds, const char *type);

/* The array, a new reference; with lastProbeTime null, as KubeVirt writes it.
 * Change it with kube/conditions.h. */
json_t *conds_json(const struct conds *conds);

#endif
