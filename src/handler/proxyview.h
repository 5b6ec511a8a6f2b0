/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PROXYVIEW_H
#define HANDLER_PROXYVIEW_H

/*
 * proxyview - what the node's ferry-proxy says about itself and about the
 * listeners of one machine, for those who ask from elsewhere.
 *
 * By a connection of its own: whoever only looks keeps nobody waiting.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"

struct loop;
struct proxyview;

#define PROXYVIEW_TIMEOUT_MS 5000U /* of each answer */

/*
 * control is the path of the control socket, key that of the listeners ("" for
 * none). done is called once, later, with {"version", "status", "source":
 * [...], "target": [...]} as in ferry-proxy-control(5), or with {"error"}; a
 * new reference. Unless it is freed before, which may also be from within.
 */
struct proxyview *proxyview_new(struct loop *loop, const char *control,
				const char *key,
				void (*done)(void *arg, json_t *view),
				void *arg);
void proxyview_free(struct proxyview *view); /* NULL is fine */

#endif
