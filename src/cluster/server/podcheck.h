/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_PODCHECK_H
#define CLUSTER_PODCHECK_H

/*
 * podcheck - what must be right about a pod's containers and volumes beyond
 * their schema: names that are there once, mounts of volumes that exist,
 * requests within their limits.
 */

#include "base/js.h"

struct causes;

void podcheck_containers(const json_t *pod, struct causes *causes);

#endif
