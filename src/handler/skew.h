/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_SKEW_H
#define HANDLER_SKEW_H

/*
 * skew - whether the launcher of one node can take a machine from that of
 * another.
 *
 * Each node sees its own launcher only. The one that a machine runs on leaves
 * what its launcher is on the machine (ANNOTATION_LAUNCHER_VERSIONS); the one
 * that is to receive it compares, before anything is asked of either side.
 *
 * Refused are launchers without a common protocol, and a QEMU that is older
 * than the one the machine runs on: QEMU reads what earlier versions have
 * sent, and not the other way. What is not known is not held against anybody.
 *
 * Threading: pure functions, any thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "launchrpc/request.h"

/* Longer than any version there is; a launcher says what it likes. */
#define SKEW_VERSION_MAX 64

/* What stands on the machine; NULL when the launcher does not know it all yet,
 * or has versions that are none. The caller frees it. */
char *skew_text(const struct launch_versions *versions);

/* One launcher, and the node it is on. */
struct skew_side {
	const char *node;
	const struct launch_versions *versions;
};

/* Whether the target cannot take what the source has, and then why, and what
 * to do. */
bool skew_found(const struct skew_side *source, const struct skew_side *target,
		char *why, size_t size);

/* The same, of what stands on the machine; a text that cannot be understood
 * is nothing known. */
bool skew_found_in(const char *text, const char *source_node,
		   const struct skew_side *target, char *why, size_t size);

#endif
