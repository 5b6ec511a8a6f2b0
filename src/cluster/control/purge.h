/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_PURGE_H
#define CLUSTER_CONTROL_PURGE_H

/*
 * purge - deletes all objects of a kind, a portion at a time, so that others
 * are served in between however many there are.
 */

#include <stddef.h>

struct kind;
struct task;

/*
 * Sends deletions, at most max, for the objects of a namespace (NULL: of all)
 * that are not being deleted already. *after says where to begin, NULL: with
 * the first; it is replaced by where to go on, or by NULL when the end was
 * reached. Returns how many were sent.
 */
size_t purge_kind(struct task *task, const struct kind *kind, const char *ns,
		  size_t max, char **after);

#endif
