/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PARENTS_H
#define CTL_PARENTS_H

/* parents - the directories that a path is in. */

struct err;

/* Makes those that are missing, all but the last part of path. Path is written
 * to meanwhile, and as it was afterwards unless it fails. */
int parents_make(char *path, struct err *err);

#endif
