/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/score.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "cluster/control/attempt.h"
#include "meta/nodesel.h"
#include "cluster/control/terms.h"

#define SCORE_MAX 100

/* What of the allocatable would be left, 0 to 100. */
static int64_t
left_of(int64_t has, int64_t used)
{
	if (has <= 0 || used > has)
		return 0;
	return (int64_t)((__int128)(has - used) * SCORE_MAX / has);
}

static int64_t
score_room(const struct attempt *a, const struct node *node)
{
	int64_t cpu = amounts_get(&node->allocatable, "cpu");
	int64_t memory = amounts_get(&node->allocatable, "memory");

	return (left_of(cpu, node->nonzero_cpu + a->pod->nonzero_cpu) +
		left_of(memory,
			node->nonzero_memory + a->pod->nonzero_memory)) /
	       2;
}

/* How evenly cpu and memory would be used. */
static int64_t
score_balance(const struct attempt *a, const struct node *node)
{
	int64_t cpu = left_of(amounts_get(&node->allocatable, "cpu"),
			      amounts_get(&node->used, "cpu") +
				      amounts_get(&a->pod->requests, "cpu"));
	int64_t memory =
		left_of(amounts_get(&node->allocatable, "memory"),
			amounts_get(&node->used, "memory") +
				amounts_get(&a->pod->requests, "memory"));

	return SCORE_MAX - llabs(cpu - memory) / 2;
}

static int64_t
score_node_affinity(const struct attempt *a, const struct node *node)
{
	int64_t sum = 0;
	size_t i;
	json_t *each;

	json_array_foreach(a->pod->node_preferred, i, each)
	{
		if (nodesel_term_matches(js_at(each, "preference"),
					 node->labels, node->name))
			sum += js_int_at(each, "weight", 0);
	}
	return sum;
}

static int64_t
score_taints(const struct attempt *a, const struct node *node)
{
	int64_t count = 0;

	for (size_t i = 0; i < node->taint_count; i++) {
		if (node->taints[i].effect == TAINT_PREFER_NO_SCHEDULE &&
		    !tolerations_cover(a->pod->tolerations,
				       a->pod->toleration_count,
				       &node->taints[i]))
			count++;
	}
	return -count;
}

static int64_t
score_pod_affinity(const struct attempt *a, const struct node *node)
{
	int64_t sum = 0;

	for (size_t i = 0; i < a->pod->use_count; i++) {
		const struct term_use *use = &a->pod->uses[i];
		const struct domain *domain;

		if (use->kind != USE_PREFERRED)
			continue;
		domain = term_domain(use->term, term_value(use->term, node));
		if (domain != NULL)
			sum += use->number * domain->matching;
	}
	for (size_t i = 0; i < a->hit_count; i++) {
		const struct domain *domain =
			term_domain(a->hits[i], term_value(a->hits[i], node));

		if (domain != NULL)
			sum += domain->weight;
	}
	return sum;
}

/* Fewer like it nearby are better; nodes outside of all domains are worst. */
static int64_t
score_spread(const struct attempt *a, const struct node *node)
{
	int64_t sum = 0;

	for (size_t i = 0; i < a->pod->use_count; i++) {
		const struct term_use *use = &a->pod->uses[i];
		const char *value;
		const struct domain *domain;

		if (use->kind != USE_SPREAD_SOFT && use->kind != USE_SPREAD)
			continue;
		value = term_value(use->term, node);
		domain = term_domain(use->term, value);
		if (value == NULL)
			return INT32_MIN;
		if (domain != NULL)
			sum -= domain->matching;
	}
	return sum;
}

static const struct {
	int64_t weight;
	/* Whether 0 to 100 already; else it is stretched to that between the
	 * worst and the best node. */
	bool absolute;
	int64_t (*score)(const struct attempt *attempt,
			 const struct node *node);
} scores[] = {
	{ 1, true, score_room },           { 1, true, score_balance },
	{ 2, false, score_node_affinity }, { 3, false, score_taints },
	{ 2, false, score_pod_affinity },  { 2, false, score_spread },
};

static void
add_stretched(const int64_t *raw, size_t count, int64_t weight, int64_t *sums)
{
	int64_t low = INT64_MAX;
	int64_t high = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		low = raw[i] < low ? raw[i] : low;
		high = raw[i] > high ? raw[i] : high;
	}
	if (low == high)
		return;
	for (size_t i = 0; i < count; i++)
		sums[i] += weight * (int64_t)((__int128)(raw[i] - low) *
					      SCORE_MAX / (high - low));
}

void
score_nodes(const struct attempt *attempt, struct node *const *nodes,
	    size_t count, int64_t *sums)
{
	int64_t *raw = xcalloc(count + 1, sizeof(*raw));

	for (size_t i = 0; i < count; i++)
		sums[i] = 0;
	for (size_t s = 0; s < ARRAY_LEN(scores); s++) {
		for (size_t i = 0; i < count; i++) {
			raw[i] = scores[s].score(attempt, nodes[i]);
			if (scores[s].absolute)
				sums[i] += scores[s].weight * raw[i];
		}
		if (!scores[s].absolute)
			add_stretched(raw, count, scores[s].weight, sums);
	}
	free(raw);
}
