/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_RENDER_POD_H
#define CONTROLLER_RENDER_POD_H

/*
 * pod - what pods of starting and of migrating instances have in common.
 *
 * Threading: as render.h.
 */

#include "base/js.h"

struct err;
struct render_env;

/* The pod; references as for volumes_render(). Without annotations for
 * networks. A new reference, NULL on failure. */
json_t *pod_render(const json_t *vmi, const struct render_env *env,
		   const json_t *references, struct err *err);

#endif
