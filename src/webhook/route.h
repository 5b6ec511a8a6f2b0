/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_ROUTE_H
#define WEBHOOK_ROUTE_H

/*
 * route - from a request's path to who answers it. Threading: only from the
 * loop's thread.
 */

struct http_request;

#define ROUTE_METRICS_MAX (1024UL * 1024) /* bytes of text */

/* The handler of the server; arg is the api. */
void route_handle(struct http_request *http, void *arg);

#endif
