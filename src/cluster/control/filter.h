/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_FILTER_H
#define CLUSTER_CONTROL_FILTER_H

/*
 * filter - whether a pod can be on a node, and what is in the way, in the words
 * of kube-scheduler.
 */

#include <stddef.h>

#include "base/map.h"

struct attempt;
struct node;
struct pod;

enum verdict {
	VERDICT_FITS,
	VERDICT_FULL,  /* it would fit without some of the node's pods */
	VERDICT_NEVER, /* it would not fit then either */
};

/* What is in the way, and on how many nodes. { 0 } is an empty one. */
struct report {
	struct map reasons;
};

/* Asks the filters in order, up to the first that refuses, whose reasons go
 * into the report. */
enum verdict filter_node(const struct attempt *attempt, const struct node *node,
			 struct report *report);

void report_add(struct report *report, const char *text);
/* "1 Insufficient cpu, 2 node(s) were unschedulable"; to be freed. */
char *report_text(const struct report *report);
void report_done(struct report *report);

#endif
