/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/eventform.h"

#include "base/array.h"

static const struct name {
	const char *core, *other;
} names[] = {
	{ "involvedObject", "regarding" },
	{ "message", "note" },
	{ "source", "deprecatedSource" },
	{ "firstTimestamp", "deprecatedFirstTimestamp" },
	{ "lastTimestamp", "deprecatedLastTimestamp" },
	{ "count", "deprecatedCount" },
	{ "reportingComponent", "reportingController" },
};

static void
rename_member(json_t *obj, const char *from, const char *to)
{
	json_t *value = json_object_get(obj, from);

	if (value == NULL)
		return;
	(void)json_object_set(obj, to, value);
	(void)json_object_del(obj, from);
}

void
eventform_to_new(json_t *event)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		rename_member(event, names[i].core, names[i].other);
}

void
eventform_to_core(json_t *event)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		rename_member(event, names[i].other, names[i].core);
}
