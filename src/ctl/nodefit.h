/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_NODEFIT_H
#define CTL_NODEFIT_H

/*
 * nodefit - whereto a machine could move: the checks that the scheduler and the
 * controller would make, node by node. Pure.
 *
 * What the target pod asks nodes for is what the controller would ask
 * (api/placement.h). Its requests, affinity and tolerations are those of the
 * source pod, which it is made like. Volumes that only some nodes reach and
 * rules about other pods are left to the scheduler.
 *
 * Threading: any thread, with JSON of its own.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct preflight_facts;

/* Each node but the one it is on, or the one that is asked for; "where" is its
 * name. What goes for all of them is under PREFLIGHT_MACHINE. */
void nodefit_judge(const struct preflight_facts *facts, json_t *checks);
/* Of these nodes, those of which no check has failed. */
size_t nodefit_count(const struct preflight_facts *facts, const json_t *checks);
/* Whether the node is one of these. */
bool nodefit_is_asked(const struct preflight_facts *facts, const json_t *node);

/* The node of this name; NULL: it is not there. */
const json_t *nodefit_find(const json_t *nodes, const char *name);

#endif
