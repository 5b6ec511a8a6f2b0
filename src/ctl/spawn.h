/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_SPAWN_H
#define CTL_SPAWN_H

/*
 * spawn - starts the programs of a cluster, and finds and ends all that
 * belongs to it.
 *
 * A program is a session leader of its own, with its output in a file, and
 * goes on when ferryctl ends. It knows its cluster by SPAWN_ENV in its
 * environment, which its children inherit, so that everything can be found
 * again even when nobody has noted it. Pods are found by their cgroup.
 *
 * Threading: one thread.
 */

#include <stddef.h>
#include <sys/types.h>

#include "base/js.h"

struct err;
struct layout;
struct state;

#define SPAWN_ENV "FERRY_CLUSTER_DIR"
#define SPAWN_STOP_MS 10000U /* from TERM to KILL */

struct spawn_spec {
	const char *name;
	unsigned node;      /* 0: in this network namespace */
	const json_t *argv; /* array of strings; argv[0] is a path */
};

/* Starts it and notes it in the state. */
int spawn_start(struct state *state, const struct spawn_spec *spec,
		struct err *err);
/* Ends one that was noted, with SIGKILL if it has to be. */
int spawn_stop(struct state *state, const char *name, unsigned node,
	       struct err *err);
/* Ends everything of the cluster, pods too. */
int spawn_stop_all(const struct layout *layout, struct err *err);
/* The last lines of its output; to be freed. */
char *spawn_log_tail(const struct layout *layout, const char *name,
		     unsigned node);
/* DIR/log/NAME-NODE.log; to be freed. */
char *spawn_log_path(const struct layout *layout, const char *name,
		     unsigned node);

#endif
