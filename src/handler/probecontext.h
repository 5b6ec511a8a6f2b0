/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PROBECONTEXT_H
#define HANDLER_PROBECONTEXT_H

/*
 * probecontext - what those who answer a PathProbe need of the handler.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

#include "base/js.h"

struct err;
struct handler;
struct loop;
struct pathprobe;
struct proxyctl;
struct vmi;

struct probe_context {
	struct loop *loop;
	struct handler *handler;
	const char *node; /* this one */
	int dir_fd; /* for the sockets of a measurement; -1: there is none */
};

/* Who answers: {"node", "handler", "address"}, the last one only where it was
 * told by which address others reach it; a new reference. */
json_t *probe_answer(const struct probe_context *context);

/* Nothing can be measured on this node, of whose ferry-proxy view tells; err
 * has why. */
int probe_check(const struct probe_context *context, const json_t *view,
		struct err *err);

/* A migration goes through this node: nothing may be sent that would slow it
 * down. */
bool probe_is_busy(const struct probe_context *context);

/* The machine that is asked about; NULL: none, or it is neither here nor to
 * come here. */
const struct vmi *probe_vmi(const struct probe_context *context,
			    const struct pathprobe *probe);

/* Stops a listener; nobody waits for that. side is one of proxyctl.h. */
void probe_stop_listener(const struct probe_context *context, int side,
			 const char *key);

#endif
