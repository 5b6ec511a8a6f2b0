/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_PODS_H
#define KUBELET_PODS_H

/*
 * pods - all pods of this node: those that the API has bound to it, and those
 * that are still here.
 *
 * At the start the pods on disk are taken up as they are. When the first list
 * of the API is there, those that it does not have are taken down.
 *
 * Threading: only from the loop's thread.
 */

#include <stddef.h>

struct err;
struct kubelet;
struct pod;
struct pods;

int pods_start(struct kubelet *kubelet, struct pods **ret, struct err *err);
void pods_free(struct pods *pods); /* containers run on; NULL is fine */

/* Looks again when something changes in the directory of a container. */
void pods_watch(struct pod *pod, size_t index, const char *dir);

/* NULL when it is not here. */
struct pod *pods_find(const struct pods *pods, const char *ns,
		      const char *name);
size_t pods_count(const struct pods *pods);

#endif
