/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_TOOLS_H
#define CTL_TOOLS_H

/*
 * tools - Ferry's other programs: where they are, and running one to its end.
 *
 * They are looked for beside ferryctl as they are installed, then as they are
 * built, then where --bin-dir says.
 *
 * Threading: one thread.
 */

#include <stddef.h>

struct err;

enum tool {
	TOOL_CLUSTER,
	TOOL_API,
	TOOL_CONTROLLER,
	TOOL_KUBELET,
	TOOL_HANDLER,
	TOOL_PROXY,
	TOOL_LAUNCHER,
	TOOL_COUNT,
};

#define TOOL_RUN_MS 120000U

/* "ferry-cluster", ... */
const char *tool_name(enum tool tool);
/* bin_dir may be NULL. ERR_NOT_FOUND names the program. To be freed. */
int tool_find(enum tool tool, const char *bin_dir, char **ret_path,
	      struct err *err);

/*
 * Runs a program and waits for it. *ret_out (may be NULL) is what it printed;
 * to be freed. What it complains of is the error's text.
 */
int tool_run(const char *const *argv, char **ret_out, struct err *err);

#endif
