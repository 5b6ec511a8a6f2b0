/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_METRICS_H
#define CONTROLLER_METRICS_H

/*
 * metrics - what KubeVirt's controller tells about machines and migrations,
 * under its names. Counted when it is asked for, from the caches.
 *
 * Threading: as world.h.
 */

struct buf;
struct world;

/* -1 when buf is full. */
int metrics_write(const struct world *world, struct buf *buf);

#endif
