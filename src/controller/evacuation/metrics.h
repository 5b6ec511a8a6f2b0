/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_EVACUATION_METRICS_H
#define CONTROLLER_EVACUATION_METRICS_H

/*
 * metrics - what /metrics says about machines that would not leave, and about
 * old launchers. Walks over all instances when it is asked.
 */

#include <stddef.h>

struct buf;
struct world;

/* -1 when the buffer is full. */
int metrics_write(const struct world *world, size_t outdated, struct buf *buf);

#endif
