/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_AMOUNTS_H
#define CLUSTER_CONTROL_AMOUNTS_H

/*
 * amounts - how much of each resource: cpu in thousandths, all others in whole
 * units, rounded up. Sums stop at the ends of int64_t.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct amount {
	char *name;
	int64_t value;
};

/* Ordered by name; { 0 } is none of anything. */
struct amounts {
	struct amount *list;
	size_t len;
};

int64_t amounts_get(const struct amounts *a, const char *name); /* or 0 */
void amounts_add(struct amounts *a, const char *name, int64_t value);
/* a += b times sign, which is 1 or -1. */
void amounts_add_all(struct amounts *a, const struct amounts *b, int sign);

/* Adds what a ResourceList says: {"cpu":"100m"}. */
void amounts_add_json(struct amounts *a, const json_t *list);

/*
 * What a pod needs: the sum of its containers, or what one of its init
 * containers needs where that is more, and the overhead. What has only a limit
 * needs that.
 */
void amounts_of_pod(struct amounts *ret_a, const json_t *pod);

/* What of cpu and memory the pod counts for when nodes are compared: a
 * container that says nothing counts for 100m and 200 MB. */
void amounts_nonzero_of_pod(const json_t *pod, int64_t *ret_cpu,
			    int64_t *ret_memory);

void amounts_done(struct amounts *a);

#endif
