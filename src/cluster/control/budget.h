/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_BUDGET_H
#define CLUSTER_CONTROL_BUDGET_H

/*
 * budget - the arithmetic of a PodDisruptionBudget.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

/* What is known of the pods that the budget is about. */
struct budget_facts {
	int64_t pods;    /* how many there are */
	int64_t healthy; /* ready, and nobody is about to remove them */
	int64_t scale;   /* how many their controllers want */
};

struct budget_result {
	int64_t expected;
	int64_t desired;
	int64_t allowed; /* how many may go now */
};

/* Whether the spec needs facts.scale: percentages and maxUnavailable do. */
bool budget_needs_scale(const json_t *spec);

/* Percentages are rounded up. */
struct budget_result budget_compute(const json_t *spec,
				    const struct budget_facts *facts);

#endif
