/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PROBESOURCE_H
#define HANDLER_PROBESOURCE_H

/*
 * probesource - the source's answer to a PathProbe: looks at the proxy and at
 * the machine's sockets, tries the ports of its migration, samples its guest,
 * and measures the way to the target, one after the other.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"

struct pathprobe;
struct probe_context;
struct probesource;

/* done is called once, later, with the answer, a new reference; unless it is
 * freed before. The context is kept, the probe is not. What takes longer than
 * PROBESOURCE_MS is said to. */
#define PROBESOURCE_MS 30000U
struct probesource *probesource_new(const struct probe_context *context,
				    const struct pathprobe *probe,
				    void (*done)(void *arg, json_t *answer),
				    void *arg);
void probesource_free(struct probesource *source); /* NULL is fine */

#endif
