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

struct backoff
backoff_of(const struct facts *facts)
{
	const struct vmim *at = facts->vmim;
	int64_t pause_us = BACKOFF_FIRST_S * TIME_US_PER_SECOND;
	struct backoff b = { 0 };

	if (!vmim_is_automatic(at) || at->ignores_backoff)
		return b;
	for (size_t i = 0; i < facts->other_count; i++) {
		if (is_newer(facts->others[i], at))
			return b;
	}
	while (b.failures <= BACKOFF_DOUBLINGS_MAX &&
	       (at = next_older(facts, at)) != NULL &&
	       at->phase == MIGRATION_FAILED) {
		if (b.failures == 0)
			b.last = at;
		else
			pause_us *= 2;
		b.failures++;
	}
	if (b.last != NULL)
		b.until_us = vmim_ended_us(b.last) + pause_us;
	return b;
}
