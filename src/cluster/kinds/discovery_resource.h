/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_DISCOVERY_RESOURCE_H
#define CLUSTER_KINDS_DISCOVERY_RESOURCE_H

/*
 * discovery_resource - one resource as discovery shows it, in both forms.
 */

#include "base/js.h"

struct kind_version;

/* Appends the resource and its subresources to an APIResourceList's. */
void discovery_add_plain(json_t *resources, const struct kind_version *version);

/* One entry of a version in an APIGroupDiscoveryList; a new reference. */
json_t *discovery_aggregated(const struct kind_version *version);

/*
 * The entries for what another server's APIResourceList has, of the group and
 * version gv (two texts); a new reference. What is not understood is left out.
 */
json_t *discovery_from_plain(const json_t *list, const char *const gv[2]);

#endif
