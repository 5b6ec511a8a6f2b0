/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_RENDER_PLACEMENT_H
#define CONTROLLER_RENDER_PLACEMENT_H

/*
 * placement - which nodes the pod of a machine may go to.
 *
 * Threading: as render.h.
 */

#include "base/js.h"

struct err;
struct render_env;
struct render_migration;

/* The node selector of an instance; a new reference. */
json_t *placement_selector(const json_t *vmi, const struct render_env *env);

/*
 * Narrows the selector of a migration's target: to what the person asked for,
 * where the machine itself says nothing, and to CPUs on which a guest goes on
 * that has seen those of the source.
 */
int placement_narrow(const json_t *vmi, const struct render_env *env,
		     const struct render_migration *migration, json_t *selector,
		     struct err *err);

/* Adds to spec that the pod must not be where another of the instance is. */
void placement_keep_apart(json_t *spec, const char *vmi_uid);

#endif
