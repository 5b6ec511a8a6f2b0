/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/backoff.h"

#include <string.h>

#include "controller/migration/facts.h"
#include "meta/time.h"

/* Times are in seconds. Of two within one that has not ended is the newer:
 * there is one such at a time. */
static bool
is_newer(const struct vmim *a, const struct vmim *b)
{
	if (a->meta.created_us != b->meta.created_us)
		return a->meta.created_us > b->meta.created_us;
	if (vmim_is_final(a) != vmim_is_final(b))
		return vmim_is_final(b);
	return strcmp(a->meta.uid, b->meta.uid) > 0;
}

static bool
counts(const struct vmim *vmim)
{
	return vmim_is_automatic(vmim) && vmim_is_final(vmim) &&
	       !objmeta_is_deleting(&vmim->meta);
}

/* The newest that counts and is older than below; NULL: none. */
static const struct vmim *
next_older(const struct facts *facts, const struct vmim *below)
{
	const struct vmim *best = NULL;

	for (size_t i = 0; i < facts->other_count; i++) {
		const struct vmim *other = facts->others[i];

		if (counts(other) && is_newer(below, other) &&
		    (best == NULL || is_newer(other, best)))
			best = other;
	}
	return best;
}

int64_t
backoff_until_us(const struct facts *facts)
{
	const struct vmim *at = facts->vmim;
	int64_t pause_us = BACKOFF_FIRST_S * TIME_US_PER_SECOND;
	int64_t ended_us = 0;
	unsigned failures = 0;

	if (!vmim_is_automatic(at) || at->ignores_backoff)
		return 0;
	for (size_t i = 0; i < facts->other_count; i++) {
		if (is_newer(facts->others[i], at))
			return 0;
	}
	while (failures <= BACKOFF_DOUBLINGS_MAX &&
	       (at = next_older(facts, at)) != NULL &&
	       at->phase == MIGRATION_FAILED) {
		if (failures == 0)
			ended_us = vmim_ended_us(at);
		else
			pause_us *= 2;
		failures++;
	}
	return failures == 0 ? 0 : ended_us + pause_us;
}
