/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_LOGWHERE_H
#define CLUSTER_LOGWHERE_H

/*
 * logwhere - whom to ask for a container's log, and for what of it.
 *
 * From the pod, its node and the request's query to the kubelet's URL, with
 * the real server's checks and texts. Only for log.c.
 */

#include <stdbool.h>

#include "base/js.h"

struct query;
struct status;

struct log_where {
	char *container;
	char *query;   /* of the URL, without the question mark */
	bool insecure; /* whoever answers is believed */
	char *url;
};

/* Also for AUTO(). */
void log_where_done(struct log_where *where);

/* Fills in all but the URL. */
int log_where_options(const struct query *query, const json_t *pod,
		      struct log_where *where, struct status *st);
/* The URL, after that. */
int log_where_node(const json_t *node, const json_t *pod,
		   struct log_where *where, struct status *st);

#endif
