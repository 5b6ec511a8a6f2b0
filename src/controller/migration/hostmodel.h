/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_HOSTMODEL_H
#define CONTROLLER_MIGRATION_HOSTMODEL_H

/*
 * hostmodel - machines with the CPU of their host need nodes that have it too.
 */

struct vmi;
struct world;

/*
 * The labels that a node must have to take such a machine, when none but the
 * one it is on has them; NULL when there is such a node, or the machine does
 * not care. vmi may be NULL. To be freed.
 */
char *hostmodel_missing(const struct world *world, const struct vmi *vmi);

#endif
