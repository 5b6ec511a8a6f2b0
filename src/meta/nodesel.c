/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/nodesel.h"

#include <limits.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"

/* Whether it holds for a label's value, NULL when the label is not there. */
typedef bool op_fn(const char *value, const json_t *values);

static bool
op_in(const char *value, const json_t *values)
{
	size_t i;
	json_t *each;

	if (value == NULL)
		return false;
	json_array_foreach(values, i, each)
	{
		if (str_equal(json_string_value(each), value))
			return true;
	}
	return false;
}

static bool
op_not_in(const char *value, const json_t *values)
{
	return !op_in(value, values);
}

static bool
op_exists(const char *value, const json_t *values)
{
	(void)values;
	return value != NULL;
}

static bool
op_does_not_exist(const char *value, const json_t *values)
{
	(void)values;
	return value == NULL;
}

static bool
to_int(const char *text, int64_t *ret_value)
{
	bool negative = text != NULL && *text == '-';
	struct err err;
	uint64_t value;

	if (text == NULL || str_to_u64(negative ? text + 1 : text, "value", 0,
				       INT64_MAX, &value, &err) == -1)
		return false;
	*ret_value = negative ? -(int64_t)value : (int64_t)value;
	return true;
}

static bool
op_gt(const char *value, const json_t *values)
{
	int64_t a, b;

	return to_int(value, &a) &&
	       to_int(json_string_value(json_array_get(values, 0)), &b) &&
	       a > b;
}

static bool
op_lt(const char *value, const json_t *values)
{
	int64_t a, b;

	return to_int(value, &a) &&
	       to_int(json_string_value(json_array_get(values, 0)), &b) &&
	       a < b;
}

static const struct {
	const char *name;
	op_fn *holds;
} ops[] = {
	{ "In", op_in },         { "NotIn", op_not_in },
	{ "Exists", op_exists }, { "DoesNotExist", op_does_not_exist },
	{ "Gt", op_gt },         { "Lt", op_lt },
};

static bool
requirement_holds(const json_t *requirement, const char *value)
{
	const char *name = js_str_at(requirement, "operator");

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (strcmp(ops[i].name, name) == 0)
			return ops[i].holds(value,
					    js_at(requirement, "values"));
	}
	return false;
}

bool
nodesel_term_matches(const json_t *term, const json_t *labels, const char *name)
{
	const json_t *expressions = js_at(term, "matchExpressions");
	const json_t *fields = js_at(term, "matchFields");
	size_t i;
	json_t *each;

	if (json_array_size(expressions) + json_array_size(fields) == 0)
		return false;
	json_array_foreach(expressions, i, each)
	{
		const json_t *value =
			json_object_get(labels, js_str_at(each, "key"));

		if (!requirement_holds(each, json_string_value(value)))
			return false;
	}
	json_array_foreach(fields, i, each)
	{
		if (strcmp(js_str_at(each, "key"), "metadata.name") != 0 ||
		    !requirement_holds(each, name))
			return false;
	}
	return true;
}

bool
nodesel_matches(const json_t *selector, const json_t *labels, const char *name)
{
	size_t i;
	json_t *term;

	if (selector == NULL)
		return true;
	json_array_foreach(js_at(selector, "nodeSelectorTerms"), i, term)
	{
		if (nodesel_term_matches(term, labels, name))
			return true;
	}
	return false;
}

bool
nodesel_map_matches(const json_t *map, const json_t *labels)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)map, key, value)
	{
		const json_t *label = json_object_get(labels, key);

		if (!str_equal(json_string_value(label),
			       json_string_value(value)))
			return false;
	}
	return true;
}
