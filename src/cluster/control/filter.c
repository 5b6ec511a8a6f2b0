/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/control/attempt.h"
#include "meta/nodesel.h"
#include "cluster/control/terms.h"

static enum verdict
refuse(struct report *report, enum verdict verdict, const char *reason)
{
	report_add(report, reason);
	return verdict;
}

/* A cordoned node also has a taint, which is the way to be tolerated. */
static enum verdict
filter_unschedulable(const struct attempt *a, const struct node *node,
		     struct report *report)
{
	char key[] = TAINT_UNSCHEDULABLE;
	char value[] = "";
	struct taint taint = { key, value, TAINT_NO_SCHEDULE };

	if (!node->unschedulable ||
	    tolerations_cover(a->pod->tolerations, a->pod->toleration_count,
			      &taint))
		return VERDICT_FITS;
	return refuse(report, VERDICT_NEVER, "node(s) were unschedulable");
}

static enum verdict
filter_taints(const struct attempt *a, const struct node *node,
	      struct report *report)
{
	for (size_t i = 0; i < node->taint_count; i++) {
		const struct taint *taint = &node->taints[i];
		AUTO(free_ptr) char *reason = NULL;

		if (!taint_is_hard(taint) ||
		    tolerations_cover(a->pod->tolerations,
				      a->pod->toleration_count, taint))
			continue;
		reason = xasprintf("node(s) had untolerated taint {%s: %s}",
				   taint->key, taint->value);
		return refuse(report, VERDICT_NEVER, reason);
	}
	return VERDICT_FITS;
}

static enum verdict
filter_affinity(const struct attempt *a, const struct node *node,
		struct report *report)
{
	if (attempt_wants_node(a->pod, node))
		return VERDICT_FITS;
	return refuse(report, VERDICT_NEVER,
		      "node(s) didn't match Pod's node affinity/selector");
}

static bool
pods_conflict(const struct pod *a, const struct pod *b)
{
	for (size_t i = 0; i < a->port_count; i++) {
		for (size_t j = 0; j < b->port_count; j++) {
			if (host_ports_conflict(&a->ports[i], &b->ports[j]))
				return true;
		}
	}
	return false;
}

static enum verdict
filter_ports(const struct attempt *a, const struct node *node,
	     struct report *report)
{
	if (a->pod->port_count == 0)
		return VERDICT_FITS;
	for (const struct pod *pod = node->pods; pod != NULL;
	     pod = pod->next_on) {
		if (pods_conflict(a->pod, pod))
			return refuse(report, VERDICT_FULL,
				      "node(s) didn't have free ports for the "
				      "requested pod ports");
	}
	return VERDICT_FITS;
}

static enum verdict
filter_resources(const struct attempt *a, const struct node *node,
		 struct report *report)
{
	const struct amounts *requests = &a->pod->requests;
	enum verdict verdict = VERDICT_FITS;

	if ((int64_t)node->pod_count + 1 >
	    amounts_get(&node->allocatable, "pods"))
		verdict = refuse(report, VERDICT_FULL, "Too many pods");
	for (size_t i = 0; i < requests->len; i++) {
		const char *name = requests->list[i].name;
		int64_t has = amounts_get(&node->allocatable, name);
		int64_t used = amounts_get(&node->used, name);
		AUTO(free_ptr) char *reason = NULL;

		if (requests->list[i].value == 0 ||
		    (used <= has && requests->list[i].value <= has - used))
			continue;
		reason = xasprintf("Insufficient %s", name);
		verdict = refuse(report, VERDICT_FULL, reason);
	}
	return verdict;
}

static enum verdict
filter_volumes(const struct attempt *a, const struct node *node,
	       struct report *report)
{
	const struct volume **picks;
	bool possible;

	if (a->want_count == 0)
		return VERDICT_FITS;
	for (size_t i = 0; i < a->want_count; i++) {
		const struct want *want = &a->wants[i];

		if ((want->claim->modes & ACCESS_RWOP) &&
		    want->claim->users > 0)
			return refuse(report, VERDICT_FULL,
				      "node has pod using "
				      "PersistentVolumeClaim with the same "
				      "name and ReadWriteOncePod access mode");
		if (want->lost)
			return refuse(report, VERDICT_NEVER,
				      "node(s) unavailable due to one or more "
				      "pvc(s) bound to non-existent pv(s)");
		if (want->volume != NULL &&
		    !nodesel_matches(want->volume->required, node->labels,
				     node->name))
			return refuse(report, VERDICT_NEVER,
				      "node(s) had volume node affinity "
				      "conflict");
	}
	picks = xcalloc(a->want_count, sizeof(struct volume *));
	possible = attempt_pick_volumes(a, node, picks);
	free((void *)picks);
	if (possible)
		return VERDICT_FITS;
	return refuse(report, VERDICT_NEVER,
		      "node(s) didn't find available persistent volumes to "
		      "bind");
}

static enum verdict
filter_spread(const struct attempt *a, const struct node *node,
	      struct report *report)
{
	for (size_t i = 0; i < a->skew_count; i++) {
		const struct skew *skew = &a->skews[i];
		const struct term *term = skew->use->term;
		const char *value = term_value(term, node);
		const struct domain *domain = term_domain(term, value);
		int64_t here = domain == NULL ? 0 : domain->matching;

		if (value == NULL)
			return refuse(report, VERDICT_NEVER,
				      "node(s) didn't match pod topology "
				      "spread constraints (missing required "
				      "label)");
		if (here + skew->self - skew->least > skew->use->number)
			return refuse(report, VERDICT_FULL,
				      "node(s) didn't match pod topology "
				      "spread constraints");
	}
	return VERDICT_FITS;
}

/* How many pods match the term where the node is; -1 if it is nowhere. */
static int64_t
matching_at(const struct term *term, const struct node *node)
{
	const char *value = term_value(term, node);
	const struct domain *domain = term_domain(term, value);

	if (value == NULL)
		return -1;
	return domain == NULL ? 0 : domain->matching;
}

static enum verdict
filter_pod_affinity(const struct attempt *a, const struct node *node,
		    struct report *report)
{
	for (size_t i = 0; i < a->pod->use_count; i++) {
		const struct term_use *use = &a->pod->uses[i];
		int64_t there;

		if (use->kind != USE_AFFINITY)
			continue;
		there = matching_at(use->term, node);
		if (there == -1 || (there == 0 && !a->first_of_group))
			return refuse(
				report, VERDICT_NEVER,
				"node(s) didn't match pod affinity rules");
	}
	return VERDICT_FITS;
}

static enum verdict
filter_pod_anti_affinity(const struct attempt *a, const struct node *node,
			 struct report *report)
{
	for (size_t i = 0; i < a->pod->use_count; i++) {
		const struct term_use *use = &a->pod->uses[i];

		if (use->kind == USE_ANTI_AFFINITY &&
		    matching_at(use->term, node) > 0)
			return refuse(report, VERDICT_FULL,
				      "node(s) didn't match pod anti-affinity "
				      "rules");
	}
	return VERDICT_FITS;
}

/* What the pods that are there have against this one. */
static enum verdict
filter_others_anti_affinity(const struct attempt *a, const struct node *node,
			    struct report *report)
{
	for (size_t i = 0; i < a->hit_count; i++) {
		const char *value = term_value(a->hits[i], node);
		const struct domain *domain = term_domain(a->hits[i], value);

		if (domain != NULL && domain->anti > 0)
			return refuse(report, VERDICT_FULL,
				      "node(s) didn't satisfy existing pods "
				      "anti-affinity rules");
	}
	return VERDICT_FITS;
}

/* In the order of kube-scheduler's plugins. */
static enum verdict (*const filters[])(const struct attempt *attempt,
				       const struct node *node,
				       struct report *report) = {
	filter_unschedulable,
	filter_taints,
	filter_affinity,
	filter_ports,
	filter_resources,
	filter_volumes,
	filter_spread,
	filter_pod_affinity,
	filter_pod_anti_affinity,
	filter_others_anti_affinity,
};

enum verdict
filter_node(const struct attempt *attempt, const struct node *node,
	    struct report *report)
{
	enum verdict verdict = VERDICT_FITS;

	for (size_t i = 0; i < ARRAY_LEN(filters) && verdict == VERDICT_FITS;
	     i++)
		verdict = filters[i](attempt, node, report);
	return verdict;
}

/* The report. */

struct reason {
	struct map_node node;
	size_t count;
	char text[];
};

void
report_add(struct report *report, const char *text)
{
	struct map_node *node = map_get(&report->reasons, text);
	struct reason *reason;
	size_t len;

	if (node != NULL) {
		MAP_ENTRY(node, struct reason, node)->count++;
		return;
	}
	len = strlen(text);
	reason = xmalloc0(sizeof(*reason) + len + 1);
	memcpy(reason->text, text, len);
	reason->count = 1;
	map_put(&report->reasons, &reason->node, reason->text);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *
report_text(const struct report *report)
{
	size_t count = report->reasons.count;
	char **lines = xcalloc(count + 1, sizeof(char *));
	struct map_node *node = NULL;
	size_t i = 0;
	size_t len = 1;
	char *text;
	char *end;

	while ((node = map_next(&report->reasons, node)) != NULL) {
		const struct reason *r = MAP_ENTRY(node, struct reason, node);

		lines[i] = xasprintf("%zu %s", r->count, r->text);
		len += strlen(lines[i++]) + 2;
	}
	qsort((void *)lines, count, sizeof(char *), compare);
	text = xmalloc0(len);
	end = text;
	for (i = 0; i < count; i++) {
		end = stpcpy(stpcpy(end, i == 0 ? "" : ", "), lines[i]);
		free(lines[i]);
	}
	free((void *)lines);
	return text;
}

void
report_done(struct report *report)
{
	struct map_node *node = map_next(&report->reasons, NULL);

	while (node != NULL) {
		struct map_node *next = map_next(&report->reasons, node);

		free(MAP_ENTRY(node, struct reason, node));
		node = next;
	}
	map_done(&report->reasons);
}
