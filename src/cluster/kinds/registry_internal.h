/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_REGISTRY_INTERNAL_H
#define CLUSTER_KINDS_REGISTRY_INTERNAL_H

/* What openapi needs of the registry besides what is for everybody. */

struct definitions;
struct registry;

const struct definitions *registry_definitions(const struct registry *registry);

#endif
