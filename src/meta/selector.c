/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/selector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/causes.h"
#include "meta/gofmt.h"
#include "meta/names.h"
#include "meta/selector_internal.h"
#include "meta/status.h"

#define LINEAR_SEARCH_MAX 16

struct requirement *
selector_append(struct selector *sel)
{
	/* In steps of powers of two, so that appending stays linear. */
	if ((sel->count & (sel->count - 1)) == 0) {
		size_t size = sel->count > 0 ? sel->count * 2 : 1;

		sel->list = xrealloc(sel->list, size * sizeof(sel->list[0]));
	}
	sel->list[sel->count] = (struct requirement){ .key = NULL };
	return &sel->list[sel->count++];
}

void
requirement_add_value(struct requirement *r, const char *value, size_t len)
{
	if ((r->count & (r->count - 1)) == 0) {
		size_t size = r->count > 0 ? r->count * 2 : 1;

		/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
		r->values = xrealloc(r->values, size * sizeof(r->values[0]));
	}
	r->values[r->count++] = xstrndup(value, len);
}

static int
compare_texts(const void *a, const void *b)
{
	const char *const *left = a;
	const char *const *right = b;

	return strcmp(*left, *right);
}

static void
sort_values(struct requirement *r)
{
	size_t kept = 0;

	if (r->count < 2)
		return;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
	qsort(r->values, r->count, sizeof(r->values[0]), compare_texts);
	for (size_t i = 1; i < r->count; i++) {
		if (strcmp(r->values[kept], r->values[i]) == 0)
			free(r->values[i]);
		else
			r->values[++kept] = r->values[i];
	}
	r->count = kept + 1;
}

/* The faults of a name as one cause. */
static void
check_joined(enum name_rule rule, const char *value, const char *field,
	     struct causes *causes)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_UNLIMITED);
	struct name_faults faults;

	name_check(rule, value, &faults);
	for (size_t i = 0; i < faults.count; i++)
		(void)buf_printf(&text, "%s%s", i > 0 ? "; " : "",
				 faults.text[i]);
	if (faults.count > 0)
		causes_invalid_str(causes, field, value,
				   (const char *)text.data);
}

static void
complain_about_values(const struct requirement *r, const char *message,
		      struct causes *causes)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_UNLIMITED);

	(void)buf_append_str(&text, "[]string{");
	for (size_t i = 0; i < r->count; i++) {
		(void)buf_append_str(&text, i > 0 ? ", " : "");
		gofmt_append_quoted(&text, r->values[i]);
	}
	(void)buf_append_str(&text, "}");
	causes_add_value(causes, CAUSE_INVALID, "values",
			 (const char *)text.data, message);
}

static bool
parse_number(const char *text, int64_t *ret_number)
{
	char *end;
	long long number;

	if (strspn(text, "+-0123456789") != strlen(text) || text[0] == '\0')
		return false;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0' || end == text)
		return false;
	*ret_number = number;
	return true;
}

static void
check_numbers(struct requirement *r, struct causes *causes)
{
	if (r->count != 1)
		complain_about_values(r,
				      "for 'Gt', 'Lt' operators, exactly one "
				      "value is required",
				      causes);
	for (size_t i = 0; i < r->count; i++) {
		char field[32];

		if (parse_number(r->values[i], &r->number))
			continue;
		(void)snprintf(field, sizeof(field), "values[%zu]", i);
		causes_invalid_str(causes, field, r->values[i],
				   "for 'Gt', 'Lt' operators, the value must "
				   "be an integer");
	}
}

static void
check_count(struct requirement *r, struct causes *causes)
{
	switch (r->op) {
	case SELECTOR_IN:
	case SELECTOR_NOT_IN:
		if (r->count == 0)
			complain_about_values(r,
					      "for 'in', 'notin' operators, "
					      "values set can't be empty",
					      causes);
		break;
	case SELECTOR_EQUAL:
	case SELECTOR_DOUBLE_EQUAL:
	case SELECTOR_NOT_EQUAL:
		if (r->count != 1)
			complain_about_values(r,
					      "exact-match compatibility "
					      "requires one single value",
					      causes);
		break;
	case SELECTOR_EXISTS:
	case SELECTOR_NOT_EXISTS:
		if (r->count != 0)
			complain_about_values(r,
					      "values set must be empty for "
					      "exists and does not exist",
					      causes);
		break;
	case SELECTOR_GREATER:
	case SELECTOR_LESS:
		check_numbers(r, causes);
		break;
	}
}

void
requirement_finish(struct requirement *r, struct causes *causes)
{
	sort_values(r);
	check_joined(NAME_QUALIFIED, r->key, "key", causes);
	check_count(r, causes);
	for (size_t i = 0; i < r->count; i++) {
		AUTO(free_ptr) char *field = NULL;

		if (name_ok(NAME_LABEL_VALUE, r->values[i]))
			continue;
		field = xasprintf("values[%zu][%s]", i, r->key);
		check_joined(NAME_LABEL_VALUE, r->values[i], field, causes);
	}
}

static int
compare_requirements(const void *a, const void *b)
{
	const struct requirement *left = a;
	const struct requirement *right = b;

	return strcmp(left->key, right->key);
}

void
selector_sort(struct selector *sel)
{
	if (sel->count > 1)
		qsort(sel->list, sel->count, sizeof(sel->list[0]),
		      compare_requirements);
}

void
selector_free(struct selector *sel)
{
	if (sel == NULL)
		return;
	for (size_t i = 0; i < sel->count; i++) {
		struct requirement *r = &sel->list[i];

		for (size_t j = 0; j < r->count; j++)
			free(r->values[j]);
		free(r->values);
		free(r->key);
	}
	free(sel->list);
	free(sel);
}

void
selector_unref(struct selector **pointer)
{
	selector_free(*pointer);
	*pointer = NULL;
}

static void
add_labels(struct selector *sel, const json_t *map, struct causes *causes)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)map, key, value)
	{
		struct requirement *r;
		const char *text = json_string_value(value);

		if (text == NULL)
			continue;
		r = selector_append(sel);
		r->key = xstrdup(key);
		r->op = SELECTOR_EQUAL;
		requirement_add_value(r, text, strlen(text));
		if (causes != NULL)
			requirement_finish(r, causes);
	}
}

static int
find_op(const char *name, enum selector_op *ret_op)
{
	static const struct {
		const char *name;
		enum selector_op op;
	} ops[] = {
		{ "In", SELECTOR_IN },
		{ "NotIn", SELECTOR_NOT_IN },
		{ "Exists", SELECTOR_EXISTS },
		{ "DoesNotExist", SELECTOR_NOT_EXISTS },
	};

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (str_equal(ops[i].name, name)) {
			*ret_op = ops[i].op;
			return 0;
		}
	}
	return -1;
}

static int
add_expression(struct selector *sel, const json_t *expression,
	       struct causes *causes, struct status *st)
{
	const char *key = json_string_value(json_object_get(expression, "key"));
	const char *name =
		json_string_value(json_object_get(expression, "operator"));
	const json_t *values = json_object_get(expression, "values");
	enum selector_op op;
	struct requirement *r;
	size_t i;
	json_t *value;

	if (find_op(name, &op) == -1)
		return status_bad_request(
			st, "\"%s\" is not a valid label selector operator",
			name == NULL ? "" : name);
	r = selector_append(sel);
	r->key = xstrdup(key == NULL ? "" : key);
	r->op = op;
	json_array_foreach(values, i, value)
	{
		if (!json_is_string(value))
			return status_bad_request(
				st, "values of a label selector must be "
				    "strings");
		requirement_add_value(r, json_string_value(value),
				      json_string_length(value));
	}
	requirement_finish(r, causes);
	return 0;
}

struct selector *
selector_from_json(const json_t *obj, struct status *st)
{
	AUTO(selector_unref) struct selector *sel = xmalloc0(sizeof(*sel));
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	const json_t *expressions = json_object_get(obj, "matchExpressions");
	size_t i;
	json_t *expression;

	sel->nothing = obj == NULL || json_is_null(obj);
	if (!sel->nothing && !json_is_object(obj)) {
		(void)status_bad_request(st, "label selector is no object");
		return NULL;
	}
	add_labels(sel, json_object_get(obj, "matchLabels"), &causes);
	json_array_foreach(expressions, i, expression)
	{
		if (add_expression(sel, expression, &causes, st) == -1)
			return NULL;
	}
	if (causes_count(&causes) > 0) {
		AUTO(free_ptr) char *text = causes_text(&causes);

		(void)status_bad_request(st, "%s", text);
		return NULL;
	}
	selector_sort(sel);
	return TAKE_PTR(sel);
}

struct selector *
selector_from_map(const json_t *map)
{
	struct selector *sel = xmalloc0(sizeof(*sel));

	add_labels(sel, map, NULL);
	selector_sort(sel);
	return sel;
}

static bool
has_value(const struct requirement *r, const char *value)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
	return bsearch(&value, r->values, r->count, sizeof(r->values[0]),
		       compare_texts) != NULL;
}

/* value is NULL when there is no such label. */
static bool
holds(const struct requirement *r, const char *value)
{
	int64_t number;

	switch (r->op) {
	case SELECTOR_IN:
	case SELECTOR_EQUAL:
	case SELECTOR_DOUBLE_EQUAL:
		return value != NULL && has_value(r, value);
	case SELECTOR_NOT_IN:
	case SELECTOR_NOT_EQUAL:
		return value == NULL || !has_value(r, value);
	case SELECTOR_EXISTS:
		return value != NULL;
	case SELECTOR_NOT_EXISTS:
		return value == NULL;
	case SELECTOR_GREATER:
	case SELECTOR_LESS:
		if (value == NULL || !parse_number(value, &number))
			return false;
		return r->op == SELECTOR_GREATER ? number > r->number
						 : number < r->number;
	}
	return false;
}

bool
selector_matches(const struct selector *sel, const json_t *labels)
{
	if (sel == NULL)
		return true;
	for (size_t i = 0; i < sel->count; i++) {
		const json_t *value = json_object_get(labels, sel->list[i].key);

		if (!holds(&sel->list[i], json_string_value(value)))
			return false;
	}
	return !sel->nothing;
}

static int
compare_labels(const void *a, const void *b)
{
	const struct label *left = a;
	const struct label *right = b;

	return strcmp(left->key, right->key);
}

static bool
are_sorted(const struct label *labels, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (compare_labels(&labels[i - 1], &labels[i]) > 0)
			return false;
	}
	return true;
}

static const char *
find_label(const struct label *labels, size_t n, bool sorted, const char *key)
{
	const struct label wanted = { .key = key };
	const struct label *found;

	if (sorted) {
		found = bsearch(&wanted, labels, n, sizeof(labels[0]),
				compare_labels);
		return found == NULL ? NULL : found->value;
	}
	for (size_t i = 0; i < n; i++) {
		if (strcmp(labels[i].key, key) == 0)
			return labels[i].value;
	}
	return NULL;
}

bool
selector_matches_labels(const struct selector *sel, const struct label *labels,
			size_t n)
{
	bool sorted;

	if (sel == NULL)
		return true;
	sorted = n > LINEAR_SEARCH_MAX && are_sorted(labels, n);
	for (size_t i = 0; i < sel->count; i++) {
		const char *value =
			find_label(labels, n, sorted, sel->list[i].key);

		if (!holds(&sel->list[i], value))
			return false;
	}
	return !sel->nothing;
}

bool
selector_is_empty(const struct selector *sel)
{
	return sel == NULL || (sel->count == 0 && !sel->nothing);
}

bool
selector_is_nothing(const struct selector *sel)
{
	return sel != NULL && sel->nothing;
}

bool
selector_next_exact(const struct selector *sel, size_t *at,
		    struct label *ret_label)
{
	while (sel != NULL && *at < sel->count) {
		const struct requirement *r = &sel->list[(*at)++];

		if (r->count == 1 &&
		    (r->op == SELECTOR_IN || r->op == SELECTOR_EQUAL ||
		     r->op == SELECTOR_DOUBLE_EQUAL)) {
			*ret_label = (struct label){ r->key, r->values[0] };
			return true;
		}
	}
	return false;
}

const char *
selector_exact_value(const struct selector *sel, const char *key)
{
	struct label label;
	size_t at = 0;

	while (selector_next_exact(sel, &at, &label)) {
		if (strcmp(label.key, key) == 0)
			return label.value;
	}
	return NULL;
}

static void
append_requirement(struct buf *text, const struct requirement *r)
{
	static const char *const signs[] = {
		[SELECTOR_IN] = " in (",     [SELECTOR_NOT_IN] = " notin (",
		[SELECTOR_EQUAL] = "=",      [SELECTOR_DOUBLE_EQUAL] = "==",
		[SELECTOR_NOT_EQUAL] = "!=", [SELECTOR_GREATER] = ">",
		[SELECTOR_LESS] = "<",       [SELECTOR_EXISTS] = "",
		[SELECTOR_NOT_EXISTS] = "",
	};

	(void)buf_printf(text, "%s%s%s",
			 r->op == SELECTOR_NOT_EXISTS ? "!" : "", r->key,
			 signs[r->op]);
	for (size_t i = 0; i < r->count; i++)
		(void)buf_printf(text, "%s%s", i > 0 ? "," : "", r->values[i]);
	if (r->op == SELECTOR_IN || r->op == SELECTOR_NOT_IN)
		(void)buf_append_str(text, ")");
}

char *
selector_text(const struct selector *sel)
{
	struct buf text = BUF_INIT(BUF_UNLIMITED);

	(void)buf_append_str(&text, "");
	for (size_t i = 0; sel != NULL && i < sel->count; i++) {
		(void)buf_append_str(&text, i > 0 ? "," : "");
		append_requirement(&text, &sel->list[i]);
	}
	return (char *)text.data;
}
