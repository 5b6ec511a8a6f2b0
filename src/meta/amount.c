/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/amount.h"

#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"

bool
amount_of(const json_t *value, struct quantity *ret_q)
{
	struct err err;

	*ret_q = QUANTITY_ZERO;
	if (json_is_integer(value)) {
		*ret_q = quantity_from_int(json_integer_value(value),
					   QUANTITY_DECIMAL_SI);
		return true;
	}
	return json_is_string(value) &&
	       quantity_parse(json_string_value(value), ret_q, &err) == 0;
}

bool
amount_in(const json_t *list, const char *resource, struct quantity *ret_q)
{
	return amount_of(json_object_get(list, resource), ret_q);
}

static bool
container_amount(const json_t *container, const char *list,
		 const char *resource, struct quantity *ret_q)
{
	const json_t *resources = json_object_get(container, "resources");

	return amount_in(json_object_get(resources, list), resource, ret_q);
}

/*
 * An init container that is restarted runs on beside all that start after it;
 * any other has ended before the next one starts.
 */
static bool
init_amount(const json_t *spec, const char *list, const char *resource,
	    struct quantity *ret_staying, struct quantity *ret_most)
{
	const json_t *item;
	bool found = false;
	size_t i;

	json_array_foreach(js_arr_at(spec, "initContainers"), i, item)
	{
		struct quantity q, now;

		if (!container_amount(item, list, resource, &q))
			continue;
		found = true;
		now = quantity_add(*ret_staying, q);
		if (str_equal(js_str_at(item, "restartPolicy"), "Always"))
			*ret_staying = now;
		if (quantity_cmp(&now, ret_most) > 0)
			*ret_most = now;
	}
	return found;
}

bool
amount_of_pod(const json_t *pod, const char *list, const char *resource,
	      struct quantity *ret_q)
{
	const json_t *spec = js_obj_at(pod, "spec");
	struct quantity sum = QUANTITY_ZERO, most = QUANTITY_ZERO;
	struct quantity staying = QUANTITY_ZERO, q;
	const json_t *item;
	bool found = false;
	size_t i;

	json_array_foreach(js_arr_at(spec, "containers"), i, item)
	{
		if (!container_amount(item, list, resource, &q))
			continue;
		found = true;
		sum = quantity_add(sum, q);
	}
	if (init_amount(spec, list, resource, &staying, &most))
		found = true;
	sum = quantity_add(sum, staying);
	if (quantity_cmp(&most, &sum) > 0)
		sum = most;
	/* A limit that nobody set is not set by the overhead either. */
	if (amount_in(js_obj_at(spec, "overhead"), resource, &q) &&
	    (found || str_equal(list, "requests"))) {
		sum = quantity_add(sum, q);
		found = true;
	}
	*ret_q = sum;
	return found;
}
