/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_CONTEXT_H
#define CLUSTER_CONTROL_CONTEXT_H

/*
 * context - what each controller is given, and the table of controllers.
 */

#include "cluster/control/control.h"

struct feed;
struct view;

struct context {
	struct control_config config; /* with the defaults filled in */
	struct view *view;
	struct feed *feed;
};

/*
 * start registers with the feed and makes its own watches; it returns what
 * stop is given. The context outlives the controller.
 */
struct controller {
	const char *name;
	void *(*start)(struct context *context);
	void (*stop)(void *state);
};

extern const struct controller scheduler_controller;
extern const struct controller gc_controller;
extern const struct controller namespace_controller;
extern const struct controller definition_controller;
extern const struct controller defaults_controller;
extern const struct controller nodelife_controller;
extern const struct controller eviction_controller;
extern const struct controller expiry_controller;
extern const struct controller pdb_controller;
extern const struct controller binder_controller;

#endif
