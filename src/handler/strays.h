/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_STRAYS_H
#define HANDLER_STRAYS_H

/*
 * strays - listeners of ferry-proxy that belong to no machine of this node.
 *
 * ferry-proxy outlives the handler. A machine that goes, with its pod, while no
 * handler runs leaves its listener there, and nobody would ever look at that
 * machine again. So what the proxy has is asked for as soon as all machines
 * have been seen, and now and then, and is compared with them.
 *
 * Threading: only from the loop's thread.
 */

struct handler;
struct loop;
struct strays;

#define STRAYS_LOOK_MS 30000U /* between two looks */
#define STRAYS_WAIT_MS 500U   /* for the machines to be seen at first */

struct strays *strays_new(struct handler *handler, struct loop *loop);
void strays_free(struct strays *strays); /* NULL is fine */

/* ferry-proxy has said what runs: stops what is nobody's. */
void strays_stop(struct strays *strays);

#endif
