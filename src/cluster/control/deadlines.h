/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_DEADLINES_H
#define CLUSTER_CONTROL_DEADLINES_H

/*
 * deadlines - things, by name, whose time runs out unless it is put off.
 *
 * Knows no clock: times are the caller's, in milliseconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/map.h"

#define DEADLINES_NEVER UINT64_MAX

/* { 0 } is an empty one. */
struct deadlines {
	struct map names;
	struct heap order;
};

/* Sets it, or moves it in either direction. */
void deadlines_set(struct deadlines *d, const char *name, uint64_t at_ms);
void deadlines_remove(struct deadlines *d, const char *name);
bool deadlines_has(const struct deadlines *d, const char *name);

/* Takes out one whose time has come: its name, to be freed; else NULL. */
char *deadlines_take(struct deadlines *d, uint64_t now_ms);
/* The next; DEADLINES_NEVER if there is none. */
uint64_t deadlines_next(const struct deadlines *d);

void deadlines_done(struct deadlines *d);

#endif
