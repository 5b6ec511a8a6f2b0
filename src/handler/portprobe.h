/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PORTPROBE_H
#define HANDLER_PORTPROBE_H

/*
 * portprobe - which ports of a migration are reached from this node.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"

struct loop;
struct portprobe;

/*
 * Connects to each port of {"TCPPORT": CHANNEL}, MIGRATION_PORTS_MAX at most.
 * done is called once, later, with a list of {"port", "channel", "result"}
 * (see net/reach.h), a new reference, unless it is freed before.
 */
struct portprobe *portprobe_new(struct loop *loop, const char *address,
				const json_t *ports,
				void (*done)(void *arg, json_t *results),
				void *arg);
void portprobe_free(struct portprobe *probe); /* NULL is fine */

#endif
