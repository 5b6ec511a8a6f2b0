/* SPDX-License-Identifier: Apache-2.0 */
#include "api/conds.h"

#include <stdlib.h>
#include <string.h>

#include "api/text.h"
#include "base/array.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "meta/time.h"

static const char *const status_names[] = {
	[COND_UNKNOWN] = "Unknown",
	[COND_TRUE] = "True",
	[COND_FALSE] = "False",
};

static enum cond_status
status_parse(const char *text)
{
	size_t i = text_index(status_names, ARRAY_LEN(status_names), text);

	return i == ARRAY_LEN(status_names) ? COND_UNKNOWN
					    : (enum cond_status)i;
}

void
conds_decode(const json_t *array, struct conds *ret_conds)
{
	size_t count = json_array_size(array);

	*ret_conds = (struct conds){ .len = 0 };
	if (count == 0)
		return;
	if (count > CONDS_MAX)
		count = CONDS_MAX;
	ret_conds->list = xcalloc(count, sizeof(*ret_conds->list));
	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_array_get(array, i);
		const char *type = js_str_at(item, "type");

		if (type[0] == '\0' || conds_find(ret_conds, type) != NULL)
			continue;
		ret_conds->list[ret_conds->len++] = (struct cond){
			.type = text_new(type),
			.status = status_parse(js_str_at(item, "status")),
			.reason = text_at(item, "reason"),
			.message = text_at(item, "message"),
			.since_us = text_time_at(item, "lastTransitionTime"),
		};
	}
}

void
conds_done(struct conds *conds)
{
	for (size_t i = 0; i < conds->len; i++) {
		text_free(conds->list[i].type);
		text_free(conds->list[i].reason);
		text_free(conds->list[i].message);
	}
	free(conds->list);
	*conds = (struct conds){ .len = 0 };
}

const struct cond *
conds_find(const struct conds *conds, const char *type)
{
	for (size_t i = 0; i < conds->len; i++) {
		if (strcmp(conds->list[i].type, type) == 0)
			return &conds->list[i];
	}
	return NULL;
}

static bool
conds_has(const struct conds *conds, const char *type, enum cond_status status)
{
	const struct cond *cond = conds_find(conds, type);

	return cond != NULL && cond->status == status;
}

bool
conds_is_true(const struct conds *conds, const char *type)
{
	return conds_has(conds, type, COND_TRUE);
}

bool
conds_is_false(const struct conds *conds, const char *type)
{
	return conds_has(conds, type, COND_FALSE);
}

static void
set_text(json_t *obj, const char *name, const char *text)
{
	if (text[0] != '\0')
		(void)json_object_set_new(obj, name, json_string(text));
}

json_t *
conds_json(const struct conds *conds)
{
	json_t *array = json_array();
	char time[TIME_TEXT_SIZE];

	for (size_t i = 0; i < conds->len; i++) {
		const struct cond *cond = &conds->list[i];
		json_t *item = json_object();

		set_text(item, "type", cond->type);
		set_text(item, "status", status_names[cond->status]);
		(void)json_object_set_new(item, "lastProbeTime", json_null());
		(void)json_object_set_new(
			item, "lastTransitionTime",
			cond->since_us == 0
				? json_null()
				: json_string(time_text(cond->since_us, time)));
		set_text(item, "reason", cond->reason);
		set_text(item, "message", cond->message);
		(void)json_array_append_new(array, item);
	}
	return array;
}
