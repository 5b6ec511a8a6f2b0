/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_METRICS_H
#define PROXY_METRICS_H

/*
 * metrics - the proxy's counters as Prometheus text (format 0.0.4).
 *
 * Threading: only from the main loop's thread.
 */

struct buf;
struct proxy;

#define METRICS_MAX (4UL * 1024 * 1024) /* bytes of text */

/* -1 when the text would pass the limit of buf. */
int metrics_write(const struct proxy *proxy, struct buf *buf);

#endif
