/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/attempt.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "meta/nodesel.h"
#include "cluster/control/terms.h"
#include "cluster/control/view.h"
#include "cluster/control/volmatch.h"

bool
attempt_wants_node(const struct pod *pod, const struct node *node)
{
	return nodesel_map_matches(pod->node_selector, node->labels) &&
	       nodesel_matches(pod->node_required, node->labels, node->name);
}

/* Affinity: whether the pod would be the first of its group. */
static bool
is_first_of_group(const struct attempt *a)
{
	const struct pod *pod = a->pod;

	for (size_t i = 0; i < pod->use_count; i++) {
		const struct term_use *use = &pod->uses[i];

		if (use->kind != USE_AFFINITY)
			continue;
		if (term_has_any(use->term) ||
		    !term_matches(a->view->terms, use->term, pod))
			return false;
	}
	return true;
}

struct seen {
	struct map_node node;
	const char *value;
};

/*
 * The emptiest of the domains that count: those of nodes the pod could be on.
 * With fewer than minDomains of them the emptiest counts as empty.
 */
static int64_t
least_in_domains(const struct attempt *a, const struct term_use *use)
{
	struct seen *seen = xcalloc(a->view->count + 1, sizeof(*seen));
	struct map domains = { 0 };
	int64_t least = INT64_MAX;
	size_t count;

	for (size_t i = 0; i < a->view->count; i++) {
		const struct node *node = a->view->list[i];
		const char *value = term_value(use->term, node);
		const struct domain *domain;
		int64_t matching;

		if (value == NULL || map_get(&domains, value) != NULL ||
		    (!use->all_nodes && !attempt_wants_node(a->pod, node)))
			continue;
		map_put(&domains, &seen[i].node, value);
		domain = term_domain(use->term, value);
		matching = domain == NULL ? 0 : domain->matching;
		if (matching < least)
			least = matching;
	}
	count = domains.count;
	map_done(&domains);
	free(seen);
	if (count == 0 || (int64_t)count < use->min_domains)
		return 0;
	return least;
}

static void
begin_skews(struct attempt *a)
{
	a->skews = xcalloc(a->pod->use_count + 1, sizeof(*a->skews));
	for (size_t i = 0; i < a->pod->use_count; i++) {
		const struct term_use *use = &a->pod->uses[i];

		if (use->kind != USE_SPREAD)
			continue;
		a->skews[a->skew_count++] = (struct skew){
			.use = use,
			.least = least_in_domains(a, use),
			.self = term_matches(a->view->terms, use->term, a->pod),
		};
	}
}

/* A claim that is not bound: what could be bound to it when the node is known.
 */
static enum attempt_result
begin_unbound(struct attempt *a, struct want *want, char **ret_why)
{
	const struct claim *claim = want->claim;
	const struct storage_class *sc = view_class(a->view, claim->class_name);

	if (*claim->class_name == '\0' || sc == NULL || !sc->known ||
	    !sc->waits) {
		*ret_why = xstrdup(
			"pod has unbound immediate PersistentVolumeClaims");
		return ATTEMPT_REFUSED;
	}
	/* A node was chosen before; whoever makes volumes is at work. */
	if (sc->provisions && *claim->selected_node != '\0' &&
	    view_node(a->view, claim->selected_node) != NULL)
		return ATTEMPT_WAIT;
	want->provisions = sc->provisions;
	want->candidate_count =
		volmatch_find(a->view, claim, &want->candidates);
	if (want->candidate_count > 0 &&
	    volmatch_is_for(want->candidates[0], claim))
		return ATTEMPT_WAIT;
	return ATTEMPT_GO;
}

static enum attempt_result
begin_want(struct attempt *a, size_t i, char **ret_why)
{
	const struct pod *pod = a->pod;
	struct want *want = &a->wants[i];
	const struct claim *claim =
		view_claim(a->view, pod->ns, pod->claims[i]);

	want->claim = claim;
	if (claim == NULL) {
		*ret_why = i >= pod->claim_count - pod->ephemeral
				   ? xasprintf("waiting for ephemeral volume "
					       "controller to create the "
					       "persistentvolumeclaim \"%s\"",
					       pod->claims[i])
				   : xasprintf("persistentvolumeclaim \"%s\" "
					       "not found",
					       pod->claims[i]);
		return ATTEMPT_REFUSED;
	}
	if (strcmp(claim->phase, "Lost") == 0) {
		*ret_why = xasprintf(
			"persistentvolumeclaim \"%s\" bound to non-existent "
			"persistentvolume \"%s\"",
			claim->name, claim->volume);
		return ATTEMPT_REFUSED;
	}
	if (claim->deleting) {
		*ret_why = xasprintf(
			"persistentvolumeclaim \"%s\" is being deleted",
			claim->name);
		return ATTEMPT_REFUSED;
	}
	if (*claim->volume == '\0')
		return begin_unbound(a, want, ret_why);
	/* Named by the user, or by the binder in its first of two steps. */
	if (!claim->bind_completed && strcmp(claim->phase, "Bound") != 0)
		return ATTEMPT_WAIT;
	want->volume = view_volume(a->view, claim->volume);
	want->lost = want->volume == NULL;
	return ATTEMPT_GO;
}

enum attempt_result
attempt_begin(struct attempt *a, const struct view *view, const struct pod *pod,
	      char **ret_why)
{
	enum attempt_result worst = ATTEMPT_GO;

	*a = (struct attempt){ .view = view, .pod = pod };
	a->want_count = pod->claim_count;
	a->wants = xcalloc(a->want_count + 1, sizeof(*a->wants));
	for (size_t i = 0; i < a->want_count; i++) {
		enum attempt_result result = begin_want(a, i, ret_why);

		if (result == ATTEMPT_REFUSED)
			return result;
		if (result == ATTEMPT_WAIT)
			worst = result;
	}
	if (worst != ATTEMPT_GO)
		return worst;
	a->hit_count = terms_of(view->terms, pod, &a->hits);
	a->first_of_group = is_first_of_group(a);
	begin_skews(a);
	return ATTEMPT_GO;
}

void
attempt_done(struct attempt *a)
{
	for (size_t i = 0; i < a->want_count; i++)
		free((void *)a->wants[i].candidates);
	free(a->wants);
	free((void *)a->hits);
	free(a->skews);
	*a = (struct attempt){ 0 };
}

static bool
is_picked(const struct volume *const *picks, size_t len,
	  const struct volume *volume)
{
	for (size_t i = 0; i < len; i++) {
		if (picks[i] == volume)
			return true;
	}
	return false;
}

bool
attempt_pick_volumes(const struct attempt *a, const struct node *node,
		     const struct volume **picks)
{
	for (size_t i = 0; i < a->want_count; i++) {
		const struct want *want = &a->wants[i];

		picks[i] = NULL;
		if (want->volume != NULL || want->lost)
			continue;
		for (size_t c = 0; c < want->candidate_count; c++) {
			const struct volume *v = want->candidates[c];

			if (nodesel_matches(v->required, node->labels,
					    node->name) &&
			    !is_picked(picks, i, v)) {
				picks[i] = v;
				break;
			}
		}
		if (picks[i] == NULL && !want->provisions)
			return false;
	}
	return true;
}
