/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_DIRS_H
#define KUBELET_DIRS_H

/*
 * dirs - makes directories of our own; those that are there are fine.
 *
 * Threading: any thread.
 */

#include <sys/types.h>

struct err;

int dirs_make(const char *path, mode_t mode, struct err *err);
/* With all that is above it, for which the mode is 0755. */
int dirs_make_all(const char *path, mode_t mode, struct err *err);

#endif
