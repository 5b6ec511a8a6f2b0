/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_UNSUPPORTED_H
#define KUBELET_UNSUPPORTED_H

/*
 * unsupported - what a pod asks for that this kubelet does not do.
 *
 * A probe or a hook that is never run would be worse than none: whoever wrote
 * it counts on it. Such a pod is not started, and an event says what it is.
 *
 * Threading: as js.h.
 */

#include "base/js.h"

struct err;

/* 0: there is nothing of that kind; -1 with ERR_INVALID, which names the first
 * member by its path. */
int unsupported_check(const json_t *pod, struct err *err);

#endif
