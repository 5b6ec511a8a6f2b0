/* SPDX-License-Identifier: Apache-2.0 */
#include "api/backoff.h"

#include <string.h>

#include "api/vmim.h"
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

/* The newest that counts and is older than below, or of all for NULL; NULL:
 * none. */
static const struct vmim *
next_older(const struct vmim *const *others, size_t count,
	   const struct vmim *below)
{
	const struct vmim *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct vmim *other = others[i];

		if (counts(other) &&
		    (below == NULL || is_newer(below, other)) &&
		    (best == NULL || is_newer(other, best)))
			best = other;
	}
	return best;
}

/* One that is not made by the system, or is followed by another, is not held
 * back. */
static bool
is_held(const struct vmim *vmim, const struct vmim *const *others, size_t count)
{
	if (vmim == NULL)
		return true;
	if (!vmim_is_automatic(vmim) || vmim->ignores_backoff)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (is_newer(others[i], vmim))
			return false;
	}
	return true;
}

struct backoff
backoff_of(const struct vmim *vmim, const struct vmim *const *others,
	   size_t count)
{
	const struct vmim *at = vmim;
	int64_t pause_us = BACKOFF_FIRST_S * TIME_US_PER_SECOND;
	struct backoff b = { 0 };

	if (!is_held(vmim, others, count))
		return b;
	while (b.failures <= BACKOFF_DOUBLINGS_MAX &&
	       (at = next_older(others, count, at)) != NULL &&
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
