/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_CGROUPS_H
#define CTL_CGROUPS_H

/*
 * cgroups - removes those of a cluster's pods, in every hierarchy. Their
 * processes have ended, or are about to leave them. Threading: one thread.
 */

struct err;
struct layout;

int cgroups_remove(const struct layout *layout, struct err *err);

#endif
