/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_WORLDKINDS_H
#define CONTROLLER_WORLDKINDS_H

/*
 * worldkinds - what world.h's informers look at, how they decode it and by
 * what it is found. A new kind, or a new index, is a row here.
 *
 * Threading: as world.h.
 */

#include <stdbool.h>

#include "controller/world.h"

/* Fills in resource, selectors and cache. */
void worldkinds_describe(enum world_kind kind, struct informer_config *config);
/* Its definition may be missing from a cluster: nobody waits for it. */
bool worldkinds_is_optional(enum world_kind kind);
/* "v1", "kubevirt.io/v1"; static. */
const char *worldkinds_api_version(const struct kube_resource *resource);

#endif
