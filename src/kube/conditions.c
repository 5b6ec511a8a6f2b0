/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/conditions.h"

#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "meta/time.h"

json_t *
condition_get(const json_t *list, const char *type)
{
	return js_find(list, "type", type);
}

const char *
condition_status(const json_t *list, const char *type)
{
	return js_str_at(condition_get(list, type), "status");
}

bool
condition_is_true(const json_t *list, const char *type)
{
	return str_equal(condition_status(list, type), "True");
}

bool
condition_is_false(const json_t *list, const char *type)
{
	return str_equal(condition_status(list, type), "False");
}

int64_t
condition_since_us(const json_t *list, const char *type)
{
	struct err err;
	int64_t us;

	if (time_parse(
		    js_str_at(condition_get(list, type), "lastTransitionTime"),
		    &us, &err) == -1)
		return 0;
	return us;
}

/* NULL and "" remove it. True when it is different from before. */
static bool
set_member(json_t *condition, const char *name, const char *value)
{
	const json_t *old = json_object_get(condition, name);

	if (value == NULL || *value == '\0')
		return json_object_del(condition, name) == 0;
	if (json_is_string(old) && str_equal(json_string_value(old), value))
		return false;
	(void)json_object_set_new(condition, name, json_string(value));
	return true;
}

/* All of this type but the one at keep. */
static bool
remove_others(json_t *list, const char *type, const json_t *keep)
{
	bool removed = false;

	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *other = json_array_get(list, i);

		if (other != keep && str_equal(js_str_at(other, "type"), type))
			removed |= json_array_remove(list, i) == 0;
	}
	return removed;
}

bool
condition_set(json_t *list, const struct condition *c, int64_t now_us)
{
	json_t *condition = condition_get(list, c->type);
	char now[TIME_TEXT_SIZE];
	bool changed;

	if (condition == NULL) {
		condition = json_pack("{s:s}", "type", c->type);
		(void)json_array_append_new(list, condition);
	}
	changed = set_member(condition, "status", c->status);
	if (changed)
		(void)set_member(condition, "lastTransitionTime",
				 time_text(now_us, now));
	changed |= set_member(condition, "reason", c->reason);
	changed |= set_member(condition, "message", c->message);
	if (changed)
		(void)remove_others(list, c->type, condition);
	return changed;
}

bool
condition_remove(json_t *list, const char *type)
{
	return remove_others(list, type, NULL);
}
