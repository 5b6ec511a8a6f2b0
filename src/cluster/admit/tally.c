/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/tally.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/amount.h"
#include "cluster/admit/scope.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/status.h"

#define TEXT_MAX (64 * 1024)

struct tally *
tally_new(const char *ns, const char *name, const json_t *quota)
{
	struct tally *tally = xmalloc0(sizeof(*tally));
	json_t *hard, *value;
	const char *resource;

	tally->namespace_ = xstrdup(ns);
	tally->name = xstrdup(name);
	tally->spec = json_deep_copy(js_obj_at(quota, "spec"));
	tally->scoped = scope_has_any(tally->spec);
	hard = js_obj_at(tally->spec, "hard");
	tally->limits =
		xcalloc(json_object_size(hard) + 1, sizeof(*tally->limits));
	json_object_foreach(hard, resource, value)
	{
		struct tally_limit *limit = &tally->limits[tally->count];

		if (tally->count == TALLY_LIMITS_MAX)
			break;
		if (!amount_of(value, &limit->hard))
			continue;
		usage_meter_init(&limit->meter, resource);
		tally->count++;
	}
	return tally;
}

void
tally_free(struct tally *tally)
{
	if (tally == NULL)
		return;
	for (size_t i = 0; i < tally->count; i++)
		usage_meter_done(&tally->limits[i].meter);
	free(tally->limits);
	json_decref(tally->spec);
	free(tally->namespace_);
	free(tally->name);
	free(tally);
}

static bool
is_pods(const char *group, const char *resource)
{
	return *group == '\0' && str_equal(resource, "pods");
}

/* Whether any limit is about this kind, and one of them looks at objects. */
static bool
concerns(const struct tally *tally, const char *group, const char *resource,
	 bool *ret_looks)
{
	bool any = false;

	*ret_looks = tally->scoped;
	if (tally->scoped && !is_pods(group, resource))
		return false;
	for (size_t i = 0; i < tally->count; i++) {
		const struct usage_meter *meter = &tally->limits[i].meter;

		if (!usage_is_about(meter, group, resource))
			continue;
		any = true;
		*ret_looks |= usage_looks(meter);
	}
	return any;
}

static bool
covers(const struct tally *tally, const json_t *obj)
{
	return !tally->scoped || scope_matches(tally->spec, obj);
}

static bool
apply(struct tally *tally, const struct object *object, bool looks, int sign)
{
	const char *group = collection_group(object->collection);
	const char *resource = collection_resource(object->collection);
	AUTO(js_unref) json_t *obj = looks ? object_json(object) : NULL;
	bool changed = false;

	if (!covers(tally, obj))
		return false;
	for (size_t i = 0; i < tally->count; i++) {
		struct tally_limit *limit = &tally->limits[i];
		struct quantity q;

		if (!usage_is_about(&limit->meter, group, resource))
			continue;
		q = usage_measure(&limit->meter, obj);
		if (quantity_is_zero(&q))
			continue;
		limit->used = sign > 0 ? quantity_add(limit->used, q)
				       : quantity_sub(limit->used, q);
		changed = true;
	}
	return changed;
}

bool
tally_follow(struct tally *tally, const struct object *old,
	     const struct object *new)
{
	const struct object *any = new != NULL ? new : old;
	bool looks, changed = false;

	if (!concerns(tally, collection_group(any->collection),
		      collection_resource(any->collection), &looks))
		return false;
	/* What only counts heads does not care about a changed face. */
	if (!looks && old != NULL && new != NULL)
		return false;
	if (new != NULL)
		changed |= apply(tally, new, looks, 1);
	if (old != NULL)
		changed |= apply(tally, old, looks, -1);
	return changed;
}

static bool
counted_before(const struct tally *tally, size_t i)
{
	const struct usage_meter *meter = &tally->limits[i].meter;

	while (i-- > 0) {
		if (usage_is_about(&tally->limits[i].meter, meter->group,
				   meter->resource))
			return true;
	}
	return false;
}

static void
count_heads(struct tally *tally, const struct kind *kind, int64_t heads)
{
	for (size_t i = 0; i < tally->count; i++) {
		struct tally_limit *limit = &tally->limits[i];

		if (usage_is_about(&limit->meter, kind->group, kind->plural))
			limit->used =
				quantity_from_int(heads, QUANTITY_DECIMAL_SI);
	}
}

static void
count_kind(struct tally *tally, const struct kind *kind)
{
	struct object **objects;
	bool looks;
	size_t count;

	if (!concerns(tally, kind->group, kind->plural, &looks))
		return;
	if (!looks) {
		count_heads(tally, kind,
			    (int64_t)store_count(kind->collection,
						 tally->namespace_));
		return;
	}
	count = store_list(kind->collection, tally->namespace_, NULL, 0,
			   &objects);
	for (size_t i = 0; i < count; i++)
		(void)apply(tally, objects[i], true, 1);
	objects_unref(objects, count);
}

void
tally_count(struct tally *tally, struct store *store,
	    const struct registry *registry)
{
	for (size_t i = 0; i < tally->count; i++) {
		tally->limits[i].used = QUANTITY_ZERO;
		tally->limits[i].reserved = QUANTITY_ZERO;
	}
	for (size_t i = 0; i < tally->count; i++) {
		const struct usage_meter *meter = &tally->limits[i].meter;
		const struct kind *kind;

		if (meter->what == USAGE_NOTHING || counted_before(tally, i))
			continue;
		kind = registry_by_resource(registry, meter->group,
					    meter->resource);
		if (kind != NULL && kind->collection != NULL)
			count_kind(tally, kind);
	}
	tally->since = store_rv(store);
}

static int
check_required(const struct tally *tally, const struct tally_change *change,
	       struct status *st)
{
	const struct gr gr = { .group = "", .resource = "pods" };
	struct buf text = BUF_INIT(TEXT_MAX);
	AUTO(free_ptr) char *why = NULL;

	for (size_t i = 0; i < tally->count; i++)
		usage_require(&tally->limits[i].meter, change->object, &text);
	if (text.len > 0)
		why = xasprintf("failed quota: %s: must specify %s",
				tally->name, (const char *)text.data);
	buf_done(&text);
	return why == NULL ? 0 : status_forbidden(st, &gr, change->name, why);
}

/* What the change adds; nothing if it takes away. */
static struct quantity
growth(const struct usage_meter *meter, const struct tally_change *change,
       bool old_covered)
{
	struct quantity q = usage_measure(meter, change->object), was;

	if (change->old != NULL && old_covered) {
		was = usage_measure(meter, change->old);
		q = quantity_sub(q, was);
	}
	return quantity_sign(&q) > 0 ? q : QUANTITY_ZERO;
}

/* "a=1,b=2", as Kubernetes lists them; stored names are in order. */
static void
append_amount(struct buf *text, const char *name, struct quantity q)
{
	char number[QUANTITY_TEXT_SIZE];

	(void)buf_printf(text, "%s%s=%s", text->len > 0 ? "," : "", name,
			 quantity_text(&q, number, sizeof(number)));
}

static struct quantity
taken(const struct tally_limit *limit)
{
	return quantity_add(limit->used, limit->reserved);
}

static bool
exceeds(const struct tally_limit *limit, struct quantity amount)
{
	struct quantity sum = quantity_add(taken(limit), amount);

	return !quantity_is_zero(&amount) &&
	       quantity_cmp(&sum, &limit->hard) > 0;
}

static int
refuse(const struct tally *tally, const struct tally_change *change,
       const struct quantity *amounts, struct status *st)
{
	const struct gr gr = { .group = change->kind->group,
			       .resource = change->kind->plural };
	struct buf requested = BUF_INIT(TEXT_MAX), used = BUF_INIT(TEXT_MAX);
	struct buf limited = BUF_INIT(TEXT_MAX);
	AUTO(free_ptr) char *why = NULL;

	for (size_t i = 0; i < tally->count; i++) {
		const struct tally_limit *limit = &tally->limits[i];

		if (!exceeds(limit, amounts[i]))
			continue;
		append_amount(&requested, limit->meter.name, amounts[i]);
		append_amount(&used, limit->meter.name, taken(limit));
		append_amount(&limited, limit->meter.name, limit->hard);
	}
	why = xasprintf(
		"exceeded quota: %s, requested: %s, used: %s, limited: %s",
		tally->name, (const char *)requested.data,
		(const char *)used.data, (const char *)limited.data);
	buf_done(&requested);
	buf_done(&used);
	buf_done(&limited);
	return status_forbidden(st, &gr, change->name, why);
}

static void
measure(const struct tally *tally, const struct tally_change *change,
	struct quantity *ret_amounts)
{
	const struct kind *kind = change->kind;
	bool old_covered = change->old != NULL && covers(tally, change->old);

	for (size_t i = 0; i < tally->count; i++) {
		const struct usage_meter *meter = &tally->limits[i].meter;

		ret_amounts[i] = QUANTITY_ZERO;
		if (usage_is_about(meter, kind->group, kind->plural) &&
		    (change->old == NULL || usage_can_grow(meter)))
			ret_amounts[i] = growth(meter, change, old_covered);
	}
}

int
tally_check(const struct tally *tally, const struct tally_change *change,
	    struct quantity *ret_amounts, bool *ret_any, struct status *st)
{
	const struct kind *kind = change->kind;
	bool looks, exceeded = false;

	*ret_any = false;
	if (!concerns(tally, kind->group, kind->plural, &looks) ||
	    !covers(tally, change->object))
		return 0;
	if (change->old == NULL && is_pods(kind->group, kind->plural) &&
	    check_required(tally, change, st) == -1)
		return -1;
	measure(tally, change, ret_amounts);
	for (size_t i = 0; i < tally->count; i++) {
		*ret_any |= !quantity_is_zero(&ret_amounts[i]);
		exceeded |= exceeds(&tally->limits[i], ret_amounts[i]);
	}
	return exceeded ? refuse(tally, change, ret_amounts, st) : 0;
}

json_t *
tally_status(const struct tally *tally)
{
	json_t *hard = json_object(), *used = json_object();
	char text[QUANTITY_TEXT_SIZE];

	for (size_t i = 0; i < tally->count; i++) {
		const struct tally_limit *limit = &tally->limits[i];

		(void)json_object_set_new(
			hard, limit->meter.name,
			json_string(quantity_text(&limit->hard, text,
						  sizeof(text))));
		if (limit->meter.what == USAGE_NOTHING)
			continue;
		(void)json_object_set_new(
			used, limit->meter.name,
			json_string(quantity_text(&limit->used, text,
						  sizeof(text))));
	}
	return json_pack("{s:o, s:o}", "hard", hard, "used", used);
}
