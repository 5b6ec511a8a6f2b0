/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/rank.h"

#include "base/array.h"
#include "controller/migration/facts.h"
#include "meta/time.h"

static const int ranks[] = {
	[PRIORITY_UNSET] = RANK_OTHER,
	[PRIORITY_SYSTEM_MAINTENANCE] = RANK_MAINTENANCE,
	[PRIORITY_USER_TRIGGERED] = RANK_USER,
	[PRIORITY_SYSTEM_CRITICAL] = RANK_CRITICAL,
};
_Static_assert(ARRAY_LEN(ranks) == PRIORITY_COUNT, "each priority has a rank");

/* One that has ended is as urgent: its slot is to be given to another. */
static bool
is_active(const struct facts *facts)
{
	return facts->vmim->phase >= MIGRATION_SCHEDULING ||
	       facts->target_pod != NULL || facts->create_sent;
}

int
rank_priority(const struct facts *facts)
{
	const struct vmim *vmim = facts->vmim;

	if (is_active(facts))
		return RANK_ACTIVE;
	if (vmim->priority == PRIORITY_UNSET && !vmim_is_automatic(vmim))
		return RANK_PERSON;
	return ranks[vmim->priority];
}

const char *
rank_group(const struct facts *facts)
{
	const struct migration_state *state = facts_state(facts);

	if (state != NULL && state->source_node[0] != '\0')
		return state->source_node;
	return facts->vmi == NULL ? "" : facts->vmi->node;
}

int64_t
rank_retry_us(const struct facts *facts)
{
	int priority = rank_priority(facts);

	if (priority >= RANK_CRITICAL)
		return 1 * TIME_US_PER_SECOND;
	return (priority >= RANK_USER ? 3 : 5) * TIME_US_PER_SECOND;
}
