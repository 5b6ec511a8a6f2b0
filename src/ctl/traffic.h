/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_TRAFFIC_H
#define CTL_TRAFFIC_H

/*
 * traffic - how many migrations are under way, as the controller's limits count
 * them: those that have a target pod, or are about to.
 *
 * Threading: any thread, with JSON of its own.
 */

#include <stddef.h>

#include "base/js.h"

/* vmims and vmis are arrays of all namespaces; node is the one whose are
 * counted. */
struct traffic {
	size_t all;      /* in the cluster */
	size_t outbound; /* away from the node */
	size_t inbound;  /* to the node */
};

struct traffic traffic_count(const json_t *vmims, const json_t *vmis,
			     const char *node);

#endif
