/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PROBETARGET_H
#define HANDLER_PROBETARGET_H

/*
 * probetarget - the target's answer to a PathProbe: looks at the proxy, and
 * listens through it for as long as it lives if something is to be measured.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"

struct pathprobe;
struct probe_context;
struct probetarget;

/* done is called once, later, with the answer, a new reference; unless it is
 * freed before. The context is kept, the probe is not. */
struct probetarget *probetarget_new(const struct probe_context *context,
				    const struct pathprobe *probe,
				    void (*done)(void *arg, json_t *answer),
				    void *arg);
/* Listens no more. NULL is fine. */
void probetarget_free(struct probetarget *target);

#endif
