/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_RANK_H
#define CONTROLLER_MIGRATION_RANK_H

/*
 * rank - whose turn it is: priority and group for kube/queue.h.
 */

#include <stdint.h>

struct facts;

/* KubeVirt's numbers, and one for what a person asked for. */
#define RANK_ACTIVE 1000
#define RANK_PERSON 200
#define RANK_CRITICAL 100
#define RANK_USER 50
#define RANK_MAINTENANCE 20
#define RANK_OTHER 0

/* Those that go on before those that wait, since they hold slots; then those
 * of people, who wait for them, before those that the system made. */
int rank_priority(const struct facts *facts);
/* The node it leaves, "" when that is not known. Groups take turns: a node
 * with many migrations does not keep the others waiting. Of the facts. */
const char *rank_group(const struct facts *facts);
/* How long to wait before asking for a slot again. */
int64_t rank_retry_us(const struct facts *facts);

#endif
