/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/facts.h"

#include <string.h>

#include "api/names.h"
#include "base/str.h"

bool
facts_is_owner(const struct facts *f)
{
	return f->vmi != NULL && str_equal(f->vmi->node, f->node);
}

bool
facts_is_source(const struct facts *f)
{
	const struct migration_state *state;

	if (!facts_is_owner(f) || f->vmi->migration == NULL)
		return false;
	state = f->vmi->migration;
	return str_equal(state->source_node, f->node) &&
	       !str_equal(state->target_node, f->node);
}

/* The label goes when this side has tidied up: then it is over. */
bool
facts_is_target(const struct facts *f)
{
	const char *label;

	if (f->vmi == NULL || f->vmi->migration == NULL)
		return false;
	label = json_string_value(
		json_object_get(f->vmi->labels, LABEL_MIGRATION_TARGET_NODE));
	return str_equal(f->vmi->migration->target_node, f->node) &&
	       label != NULL && str_equal(label, f->node);
}

const struct launch_record *
facts_record(const struct facts *f, enum launch_role role)
{
	const struct launch_record *record;

	if (f->status == NULL || f->status->migration == NULL ||
	    f->vmi == NULL || f->vmi->migration == NULL)
		return NULL;
	record = f->status->migration;
	if (record->role != role ||
	    !str_equal(record->uid, f->vmi->migration->uid))
		return NULL;
	return record;
}

bool
facts_has_domain(const struct facts *f)
{
	static const bool has[LAUNCH_STATE_COUNT] = {
		[LAUNCH_STARTING] = true,
		[LAUNCH_RUNNING] = true,
		[LAUNCH_PAUSED] = true,
		[LAUNCH_SHUTTING_DOWN] = true,
	};

	return f->status != NULL && has[f->status->state];
}

bool
facts_is_over(const struct facts *f)
{
	const struct migration_state *state = f->vmi->migration;

	return state->completed || state->failed;
}
