/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/choose.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/control/attempt.h"
#include "cluster/control/filter.h"
#include "cluster/control/score.h"
#include "cluster/control/view.h"

/*
 * Nobody is put out for another pod here; a cluster of this kind has no use
 * for it. So whoever could be helped that way has no victims.
 */
static char *
preemption_text(const struct pod *pod, size_t nodes, size_t full)
{
	struct report report = { 0 };
	AUTO(free_ptr) char *reasons = NULL;
	char *text;

	if (pod->never_preempts)
		return xstrdup("preemption: not eligible due to "
			       "preemptionPolicy=Never.");
	for (size_t i = 0; i < nodes; i++) {
		report_add(&report, i < full
					    ? "No preemption victims found for "
					      "incoming pod"
					    : "Preemption is not helpful for "
					      "scheduling");
	}
	reasons = report_text(&report);
	report_done(&report);
	text = xasprintf("preemption: 0/%zu nodes are available: %s.", nodes,
			 reasons);
	return text;
}

static char *
failure_text(const struct pod *pod, size_t nodes, size_t full,
	     const char *reasons)
{
	AUTO(free_ptr) char *preemption = preemption_text(pod, nodes, full);

	return xasprintf("0/%zu nodes are available: %s. %s", nodes, reasons,
			 preemption);
}

static void
keep_volumes(const struct attempt *a, struct choice *choice)
{
	const struct volume **picks =
		xcalloc(a->want_count + 1, sizeof(struct volume *));

	choice->volumes = xcalloc(a->want_count + 1, sizeof(*choice->volumes));
	(void)attempt_pick_volumes(a, choice->node, picks);
	for (size_t i = 0; i < a->want_count; i++) {
		const struct want *want = &a->wants[i];
		struct choice_volume *v;

		if (want->volume != NULL || want->lost)
			continue;
		v = &choice->volumes[choice->volume_count++];
		v->claim = xstrdup(want->claim->name);
		v->volume = picks[i] == NULL ? NULL : xstrdup(picks[i]->name);
	}
	free((void *)picks);
}

static struct node *
best_of(const struct attempt *a, struct node *const *fits, size_t count,
	size_t turn)
{
	int64_t *sums = xcalloc(count, sizeof(*sums));
	size_t best = turn % count;

	score_nodes(a, fits, count, sums);
	for (size_t i = 1; i < count; i++) {
		size_t at = (turn + i) % count;

		if (sums[at] > sums[best])
			best = at;
	}
	free(sums);
	return fits[best];
}

static void
look_at_nodes(const struct attempt *a, size_t turn, struct choice *choice)
{
	const struct view *view = a->view;
	struct node **fits = xcalloc(view->count + 1, sizeof(struct node *));
	struct report report = { 0 };
	size_t count = 0;
	size_t full = 0;

	for (size_t i = 0; i < view->count; i++) {
		switch (filter_node(a, view->list[i], &report)) {
		case VERDICT_FITS:
			fits[count++] = view->list[i];
			break;
		case VERDICT_FULL:
			full++;
			break;
		case VERDICT_NEVER:
			break;
		}
	}
	if (count > 0) {
		choice->kind = CHOICE_NODE;
		choice->node = best_of(a, fits, count, turn);
		keep_volumes(a, choice);
	} else {
		AUTO(free_ptr) char *reasons = report_text(&report);

		choice->kind = CHOICE_NONE;
		choice->message =
			failure_text(a->pod, view->count, full, reasons);
	}
	report_done(&report);
	free((void *)fits);
}

void
choose_node(const struct view *view, const struct pod *pod, size_t turn,
	    struct choice *ret_choice)
{
	struct attempt attempt;
	AUTO(free_ptr) char *why = NULL;

	*ret_choice = (struct choice){ .kind = CHOICE_NONE };
	if (view->count == 0) {
		ret_choice->message =
			xstrdup("no nodes available to schedule pods");
		return;
	}
	switch (attempt_begin(&attempt, view, pod, &why)) {
	case ATTEMPT_GO:
		look_at_nodes(&attempt, turn, ret_choice);
		break;
	case ATTEMPT_REFUSED:
		ret_choice->message = failure_text(pod, view->count, 0, why);
		break;
	case ATTEMPT_WAIT:
		ret_choice->kind = CHOICE_WAIT;
		break;
	}
	attempt_done(&attempt);
}

void
choice_done(struct choice *choice)
{
	for (size_t i = 0; i < choice->volume_count; i++) {
		free(choice->volumes[i].claim);
		free(choice->volumes[i].volume);
	}
	free(choice->volumes);
	free(choice->message);
	*choice = (struct choice){ 0 };
}
