/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_GC_H
#define CONTROLLER_MIGRATION_GC_H

/*
 * gc - what nobody needs any more.
 */

#include <stdbool.h>

struct facts;
struct pod;
struct vmi;

#define GC_KEPT 5 /* ended migrations of a machine */

/* The migration has ended and so have GC_KEPT later ones of its machine: made
 * later, or within the same second and of a later version. */
bool gc_is_surplus(const struct facts *facts);

/*
 * A target pod whose migration is gone (whoever took its finalizer away) and
 * in which the machine is not: it is to be deleted. vmi is the machine that
 * the pod was made for, NULL when that is gone.
 */
bool gc_pod_is_left(const struct pod *pod, const struct vmi *vmi);

#endif
