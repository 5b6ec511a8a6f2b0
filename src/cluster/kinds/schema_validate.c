/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/kinds/listkeys.h"
#include "cluster/kinds/pattern.h"
#include "cluster/kinds/schema.h"
#include "cluster/kinds/schema_internal.h"
#include "meta/causes.h"

/* Values looked at for one object; alternatives look at one several times. */
#define STEPS_MAX 5000000

struct validation {
	struct causes *causes;
	size_t steps;
};

/* NOLINTBEGIN(misc-no-recursion): as deep as object and
 * schema, which both have a limit. */

static void validate(struct validation *v, const struct schema *schema,
		     const json_t *value, const struct schema_place *place);

/* Enough is known to refuse the object. */
static bool
is_over(const struct validation *v)
{
	return v->steps > STEPS_MAX ||
	       causes_count(v->causes) >= SCHEMA_CAUSES_MAX;
}

/* "PLACE in body MESSAGE". */
static void
complain(struct validation *v, const struct schema_place *place,
	 const json_t *value, const char *message)
{
	AUTO(free_ptr) char *field = schema_place_text(place);
	AUTO(free_ptr) char *text = xasprintf("%s in body %s", field, message);

	causes_invalid(v->causes, field, value, text);
}

/* The value is said to be the name of its type. */
static void
complain_type(struct validation *v, const struct schema_place *place,
	      const char *wanted, const char *is)
{
	AUTO(free_ptr) char *field = schema_place_text(place);
	AUTO(free_ptr) char *quoted = xasprintf("\"%s\"", is);
	AUTO(free_ptr)
	char *text = xasprintf("%s in body must be of type %s: \"%s\"", field,
			       wanted, is);

	causes_add_value(v->causes, CAUSE_TYPE_INVALID, field, quoted, text);
}

static void
complain_format(struct validation *v, const struct schema_place *place,
		enum format format, const json_t *value)
{
	AUTO(free_ptr) char *field = schema_place_text(place);
	AUTO(free_ptr) char *shown = NULL, *text = NULL;

	if (json_is_string(value))
		shown = xstrdup(json_string_value(value));
	else
		shown = json_dumps(value, JSON_ENCODE_ANY);
	text = xasprintf("%s in body must be of type %s: \"%s\"", field,
			 format_name(format), shown != NULL ? shown : "");
	causes_invalid(v->causes, field, value, text);
}

/* A number as Go prints it: no exponent below 1e21. */
static const char *
number_text(double number, char buf[64])
{
	if (trunc(number) == number && fabs(number) < 1e21) {
		(void)snprintf(buf, 64, "%.0f", number);
		return buf;
	}
	for (int digits = 1; digits <= 17; digits++) {
		(void)snprintf(buf, 64, "%.*g", digits, number);
		if (strtod(buf, NULL) == number)
			break;
	}
	return buf;
}

static void
complain_bound(struct validation *v, const struct schema_place *place,
	       const json_t *value, const char *what, double bound)
{
	AUTO(free_ptr) char *message = NULL;
	char buf[64];

	message = xasprintf("should be %s %s", what, number_text(bound, buf));
	complain(v, place, value, message);
}

static void
validate_number(struct validation *v, const struct schema_rules *rules,
		const json_t *value, const struct schema_place *place)
{
	double n = json_number_value(value);

	if (!isnan(rules->maximum)) {
		if (rules->exclusive_maximum && n >= rules->maximum)
			complain_bound(v, place, value, "less than",
				       rules->maximum);
		else if (n > rules->maximum)
			complain_bound(v, place, value, "less than or equal to",
				       rules->maximum);
	}
	if (!isnan(rules->minimum)) {
		if (rules->exclusive_minimum && n <= rules->minimum)
			complain_bound(v, place, value, "greater than",
				       rules->minimum);
		else if (n < rules->minimum)
			complain_bound(v, place, value,
				       "greater than or equal to",
				       rules->minimum);
	}
	if (!isnan(rules->multiple_of) && rules->multiple_of != 0) {
		double factor = n / rules->multiple_of;

		if (trunc(factor) != factor)
			complain_bound(v, place, value, "a multiple of",
				       rules->multiple_of);
	}
}

/* Characters, not bytes; jansson's strings are valid UTF-8. */
static int64_t
text_length(const char *s, size_t len)
{
	int64_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)s[i] & 0xc0) != 0x80;
	return count;
}

static void
validate_text(struct validation *v, const struct schema_rules *rules,
	      const json_t *value, const struct schema_place *place)
{
	AUTO(free_ptr) char *message = NULL, *field = NULL;
	const char *s = json_string_value(value);
	size_t len = json_string_length(value);

	if (rules->max_length >= 0 && text_length(s, len) > rules->max_length) {
		field = schema_place_text(place);
		causes_add(v->causes, CAUSE_TOO_LONG, field,
			   "may not be longer than %lld",
			   (long long)rules->max_length);
	}
	if (rules->min_length > 0 && text_length(s, len) < rules->min_length) {
		message = xasprintf("should be at least %lld chars long",
				    (long long)rules->min_length);
		complain(v, place, value, message);
		free(TAKE_PTR(message));
	}
	if (rules->pattern != NULL &&
	    !pattern_matches(rules->pattern, s, len)) {
		message = xasprintf("should match '%s'",
				    pattern_text(rules->pattern));
		complain(v, place, value, message);
	}
}

/* items or properties: the number of them. */
static void
validate_count(struct validation *v, const struct schema_place *place,
	       const json_t *value, const int64_t bounds[2], const char *what)
{
	size_t count = json_is_array(value) ? json_array_size(value)
					    : json_object_size(value);
	AUTO(free_ptr) char *message = NULL, *field = NULL;

	if (bounds[1] >= 0 && count > (size_t)bounds[1]) {
		field = schema_place_text(place);
		causes_too_many(v->causes, field, count, (size_t)bounds[1]);
	}
	if (bounds[0] > 0 && count < (size_t)bounds[0]) {
		message = xasprintf("should have at least %lld %s",
				    (long long)bounds[0], what);
		complain(v, place, value, message);
	}
}

static void
validate_enum(struct validation *v, const json_t *values, const json_t *value,
	      const struct schema_place *place)
{
	AUTO(free_ptr) const char **supported = NULL;
	AUTO(free_ptr) char *field = NULL, *shown = NULL;
	size_t count = json_array_size(values);
	char **made;

	for (size_t i = 0; i < count; i++) {
		if (json_equal(json_array_get(values, i), value))
			return;
	}
	supported = xcalloc(count + 1, sizeof(*supported));
	made = xcalloc(count + 1, sizeof(*made));
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_array_get(values, i);

		supported[i] = json_string_value(one);
		if (supported[i] == NULL)
			supported[i] = made[i] =
				json_dumps(one, JSON_ENCODE_ANY);
	}
	field = schema_place_text(place);
	shown = json_is_string(value) ? xstrdup(json_string_value(value))
				      : json_dumps(value, JSON_ENCODE_ANY);
	causes_not_supported(v->causes, field, shown, supported);
	for (size_t i = 0; i < count; i++)
		free(made[i]);
	free(made);
}

/* Go's validator knows no field for these: it prints "<nil>". */
static void
complain_alternatives(struct validation *v, const struct schema_place *place,
		      const char *message)
{
	AUTO(free_ptr) char *field = schema_place_text(place);
	AUTO(free_ptr) char *text = xasprintf("\"%s\" %s", field, message);

	causes_invalid_str(v->causes, "<nil>", "", text);
}

/* How many of the set the value satisfies; ret_best gets the causes of the
 * first one that has the fewest. */
static size_t
count_valid(struct validation *v, const struct schema_set *set,
	    const json_t *value, const struct schema_place *place,
	    struct causes *ret_best)
{
	size_t valid = 0;
	bool first = true;

	for (size_t i = 0; i < set->count && !is_over(v); i++) {
		struct causes causes = CAUSES_INIT;
		struct validation inner = { &causes, v->steps };

		validate(&inner, set->list[i], value, place);
		v->steps = inner.steps;
		valid += causes_count(&causes) == 0;
		if (first || causes_count(&causes) < causes_count(ret_best)) {
			causes_done(ret_best);
			*ret_best = causes;
		} else {
			causes_done(&causes);
		}
		first = false;
	}
	return valid;
}

static void
validate_all_of(struct validation *v, const struct schema_set *set,
		const json_t *value, const struct schema_place *place)
{
	size_t valid = 0;

	for (size_t i = 0; i < set->count; i++) {
		size_t before = causes_count(v->causes);

		validate(v, set->list[i], value, place);
		valid += causes_count(v->causes) == before;
	}
	if (valid == 0)
		complain_alternatives(v, place,
				      "must validate all the schemas (allOf). "
				      "None validated");
	else if (valid < set->count)
		complain_alternatives(v, place,
				      "must validate all the schemas (allOf)");
}

static void
validate_any_of(struct validation *v, const struct schema_set *set,
		const json_t *value, const struct schema_place *place)
{
	AUTO(causes_done) struct causes best = CAUSES_INIT;

	if (count_valid(v, set, value, place, &best) > 0 || is_over(v))
		return;
	complain_alternatives(v, place,
			      "must validate at least one schema (anyOf)");
	causes_append(v->causes, &best);
}

static void
validate_one_of(struct validation *v, const struct schema_set *set,
		const json_t *value, const struct schema_place *place)
{
	AUTO(causes_done) struct causes best = CAUSES_INIT;
	size_t valid = count_valid(v, set, value, place, &best);
	char message[100];

	if (valid == 1 || is_over(v))
		return;
	if (valid == 0)
		(void)snprintf(message, sizeof(message),
			       "must validate one and only one schema (oneOf). "
			       "Found none valid");
	else
		(void)snprintf(message, sizeof(message),
			       "must validate one and only one schema (oneOf). "
			       "Found %zu valid alternatives",
			       valid);
	complain_alternatives(v, place, message);
	if (valid == 0)
		causes_append(v->causes, &best);
}

static void
validate_not(struct validation *v, const struct schema *schema,
	     const json_t *value, const struct schema_place *place)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	struct validation inner = { &causes, v->steps };

	validate(&inner, schema, value, place);
	v->steps = inner.steps;
	if (causes_count(&causes) == 0)
		complain_alternatives(v, place,
				      "must not validate the schema (not)");
}

static void
validate_rules(struct validation *v, const struct schema_rules *rules,
	       const json_t *value, const struct schema_place *place)
{
	if (json_is_number(value))
		validate_number(v, rules, value, place);
	if (json_is_string(value))
		validate_text(v, rules, value, place);
	if (json_is_array(value))
		validate_count(
			v, place, value,
			(int64_t[]){ rules->min_items, rules->max_items },
			"items");
	if (json_is_object(value))
		validate_count(v, place, value,
			       (int64_t[]){ rules->min_properties,
					    rules->max_properties },
			       "properties");
	if (rules->values != NULL)
		validate_enum(v, rules->values, value, place);
	if (rules->all_of.count > 0)
		validate_all_of(v, &rules->all_of, value, place);
	if (rules->any_of.count > 0)
		validate_any_of(v, &rules->any_of, value, place);
	if (rules->one_of.count > 0)
		validate_one_of(v, &rules->one_of, value, place);
	if (rules->never != NULL)
		validate_not(v, rules->never, value, place);
}

static void
require(struct validation *v, const json_t *obj, const char *name,
	const struct schema_place *place)
{
	struct schema_place below = { .up = place, .key = name };
	AUTO(free_ptr) char *field = NULL;

	if (json_object_get(obj, name) != NULL)
		return;
	field = schema_place_text(&below);
	causes_required(v->causes, field, "");
}

static void
validate_own_metadata(struct validation *v, const struct schema *schema,
		      const json_t *obj, const struct schema_place *place)
{
	static const char *const names[] = { "name", "generateName" };
	const json_t *metadata = json_object_get(obj, "metadata");
	struct schema_place outer = { .up = place, .key = "metadata" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct schema_prop *prop =
			schema_prop_find(schema->own_metadata, names[i]);
		struct schema_place below = { .up = &outer, .key = names[i] };
		const json_t *value = json_object_get(metadata, names[i]);

		if (prop != NULL && json_is_string(value))
			validate(v, prop->schema, value, &below);
	}
}

static void
validate_object(struct validation *v, const struct schema *schema,
		const json_t *obj, const struct schema_place *place)
{
	struct schema_place below = { .up = place };
	const json_t *name;
	json_t *member;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)obj, below.key, member)
	{
		const struct schema_prop *prop =
			schema_prop_find(schema, below.key);
		const struct schema *type =
			prop != NULL ? prop->schema : schema->additional;

		if (type != NULL)
			validate(v, type, member, &below);
	}
	json_array_foreach(schema->required, i, name)
		require(v, obj, json_string_value(name), place);
	if (schema->own_metadata != NULL)
		validate_own_metadata(v, schema, obj, place);
	if (schema->embedded) {
		require(v, obj, "apiVersion", place);
		require(v, obj, "kind", place);
	}
}

static void
validate_array(struct validation *v, const struct schema *schema,
	       const json_t *list, const struct schema_place *place)
{
	struct schema_place below = { .up = place };

	for (size_t i = 0; schema->items != NULL && i < json_array_size(list);
	     i++) {
		below.index = i;
		validate(v, schema->items, json_array_get(list, i), &below);
	}
	if (schema->list != SCHEMA_LIST_ATOMIC && json_array_size(list) > 1) {
		AUTO(free_ptr) char *field = schema_place_text(place);

		listkeys_check(list, schema->list_keys, field, v->causes);
	}
}

static void
validate(struct validation *v, const struct schema *schema, const json_t *value,
	 const struct schema_place *place)
{
	if (v->steps++ > STEPS_MAX || causes_count(v->causes) >= CAUSES_MAX)
		return;
	if (json_is_null(value) && schema->nullable)
		return;
	if (!schema_type_fits(schema, value)) {
		complain_type(v, place,
			      schema->int_or_string
				      ? "integer,string"
				      : schema_type_name(schema->type),
			      schema_type_of(value));
		return;
	}
	if (schema->format != FORMAT_ANY &&
	    !format_matches(schema->format, value))
		complain_format(v, place, schema->format, value);
	if (json_is_object(value))
		validate_object(v, schema, value, place);
	else if (json_is_array(value))
		validate_array(v, schema, value, place);
	if (schema->rules != NULL)
		validate_rules(v, schema->rules, value, place);
}

void
schema_validate_at(const struct schema *schema, const json_t *value,
		   const struct schema_place *place, struct causes *causes)
{
	struct validation v = { .causes = causes };

	validate(&v, schema, value, place);
	if (v.steps > STEPS_MAX)
		causes_forbidden(causes, "<nil>",
				 "the object is too large for its schema");
}

int
schema_validate(const struct schema *schema, const json_t *obj,
		struct causes *causes)
{
	size_t before = causes_count(causes);

	schema_validate_at(schema, obj, NULL, causes);
	return causes_count(causes) == before ? 0 : -1;
}

/* NOLINTEND(misc-no-recursion) */
