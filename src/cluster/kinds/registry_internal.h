/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_REGISTRY_INTERNAL_H
#define CLUSTER_KINDS_REGISTRY_INTERNAL_H

/* What openapi needs of the registry besides what is for everybody. */

#include <stdint.h>

struct definitions;
struct registry;

const struct definitions *registry_definitions(const struct registry *registry);

/* Another number whenever a kind of the group appears, changes or disappears;
 * what happens to other groups does not count. */
uint64_t registry_group_state(const struct registry *registry,
			      const char *group);

#endif
