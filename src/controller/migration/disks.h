/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_DISKS_H
#define CONTROLLER_MIGRATION_DISKS_H

/*
 * disks - whether a machine's disks let it move, as claims and classes of
 * storage say now.
 *
 * The node that a machine runs on judges its disks too, and says so in the
 * condition LiveMigratable; but that was when it started, and only about
 * claims. What is to be done about a disk follows from its class as well, of
 * which nodes know nothing.
 */

struct vmi;
struct world;

/*
 * Why not, to be freed; NULL when nothing is in the way. A claim that the
 * cache does not show says nothing: it may only be late.
 */
char *disks_hindrance(const struct world *world, const struct vmi *vmi);

#endif
