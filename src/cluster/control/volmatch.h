/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_VOLMATCH_H
#define CLUSTER_CONTROL_VOLMATCH_H

/*
 * volmatch - which PersistentVolume suits a PersistentVolumeClaim.
 */

#include <stdbool.h>
#include <stddef.h>

#include "cluster/control/model.h"

struct view;

/* Whether the volume is reserved for, or bound to, this very claim. */
bool volmatch_is_for(const struct volume *volume, const struct claim *claim);

/* Whether the claim could be bound to the volume: free (or reserved for it),
 * of its class and mode, with its access modes, large enough. */
bool volmatch_suits(const struct volume *volume, const struct claim *claim);

/*
 * All that suit: those reserved for the claim first, then the smallest first.
 * Returns how many; the array is to be freed.
 */
size_t volmatch_find(const struct view *view, const struct claim *claim,
		     const struct volume ***ret_list);

#endif
