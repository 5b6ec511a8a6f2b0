/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_RENDER_RESOURCES_H
#define CONTROLLER_RENDER_RESOURCES_H

/*
 * resources - what the container of a machine requests and may use.
 *
 * The guest's own memory, and what QEMU, libvirt and the launcher need besides;
 * CPU by the cluster's allocation ratio; devices of the node by name.
 * Threading: as render.h.
 */

#include <stdint.h>

#include "base/js.h"

struct err;
struct render_env;

/* More is taken for this many; no machine has them. */
#define RESOURCES_VCPUS_MAX 65536

/* How many the guest has: its topology, else what is limited or requested. */
uint64_t resources_vcpus(const json_t *vmi);

/* A new reference to limits and requests; NULL on failure. *ret_overhead is the
 * part of the memory that is not the guest's, in bytes. */
json_t *resources_render(const json_t *vmi, const struct render_env *env,
			 int64_t *ret_overhead, struct err *err);

#endif
