/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_COVER_H
#define CLUSTER_AUTH_COVER_H

/*
 * cover - whether some rules hold all that others would give.
 *
 * What is wanted is taken apart into single permissions (one verb on one
 * resource of one group, or on one URL); each must be held by one of the rules
 * that are owned. The work is bounded: rules that stand for more than
 * COVER_STEPS_MAX comparisons of words count as not held.
 */

#include <stdbool.h>
#include <stddef.h>

#include "cluster/auth/rule.h"

#define COVER_STEPS_MAX 50000000

/*
 * When it is false and ret_missing is not NULL, *ret_missing tells what is
 * missing, a line for each rule as Kubernetes writes them; the caller frees it.
 */
bool cover_holds(const struct rules *const *owned, size_t count,
		 const struct rules *wanted, char **ret_missing);

#endif
