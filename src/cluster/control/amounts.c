/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/amounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsat.h"
#include "base/mem.h"
#include "meta/amount.h"

#define NONZERO_CPU 100
#define NONZERO_MEMORY (200LL * 1024 * 1024)

/* Where the name is, or where it belongs. */
static size_t
place_of(const struct amounts *a, const char *name, bool *ret_found)
{
	size_t low = 0;
	size_t high = a->len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(a->list[mid].name, name);

		if (order == 0) {
			*ret_found = true;
			return mid;
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_found = false;
	return low;
}

static int64_t *
value_of(struct amounts *a, const char *name)
{
	bool found;
	size_t at = place_of(a, name, &found);

	if (!found) {
		a->list =
			xrealloc(a->list, (a->len + 1) * sizeof(struct amount));
		memmove(a->list + at + 1, a->list + at,
			(a->len - at) * sizeof(struct amount));
		a->len++;
		a->list[at] = (struct amount){ .name = xstrdup(name) };
	}
	return &a->list[at].value;
}

int64_t
amounts_get(const struct amounts *a, const char *name)
{
	bool found;
	size_t at = place_of(a, name, &found);

	return found ? a->list[at].value : 0;
}

static int64_t
plus(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

void
amounts_add(struct amounts *a, const char *name, int64_t value)
{
	int64_t *at = value_of(a, name);

	*at = plus(*at, value);
}

void
amounts_add_all(struct amounts *a, const struct amounts *b, int sign)
{
	for (size_t i = 0; i < b->len; i++)
		amounts_add(a, b->list[i].name, sign * b->list[i].value);
}

/* a = the larger of both, name by name. */
static void
raise_all(struct amounts *a, const struct amounts *b)
{
	for (size_t i = 0; i < b->len; i++) {
		int64_t *at = value_of(a, b->list[i].name);

		if (*at < b->list[i].value)
			*at = b->list[i].value;
	}
}

/* 0 for what is no quantity: the schema keeps those out. */
static int64_t
number_of(const char *name, const json_t *value)
{
	struct quantity q;

	if (!amount_of(value, &q) || quantity_sign(&q) < 0)
		return 0;
	return strcmp(name, "cpu") == 0 ? quantity_milli(&q)
					: quantity_value(&q);
}

void
amounts_add_json(struct amounts *a, const json_t *list)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)list, name, value)
		amounts_add(a, name, number_of(name, value));
}

static void
amounts_of_container(struct amounts *a, const json_t *container)
{
	const json_t *requests = js_at(container, "resources.requests");
	json_t *limits = js_at(container, "resources.limits");
	const char *name;
	json_t *value;

	amounts_add_json(a, requests);
	json_object_foreach(limits, name, value)
	{
		if (json_object_get(requests, name) == NULL)
			amounts_add(a, name, number_of(name, value));
	}
}

void
amounts_of_pod(struct amounts *ret_a, const json_t *pod)
{
	size_t i;
	json_t *container;

	*ret_a = (struct amounts){ 0 };
	json_array_foreach(js_at(pod, "spec.containers"), i, container)
		amounts_of_container(ret_a, container);
	json_array_foreach(js_at(pod, "spec.initContainers"), i, container)
	{
		struct amounts init = { 0 };

		amounts_of_container(&init, container);
		raise_all(ret_a, &init);
		amounts_done(&init);
	}
	amounts_add_json(ret_a, js_at(pod, "spec.overhead"));
}

static int64_t
or_default(const struct amounts *a, const char *name, int64_t otherwise)
{
	int64_t value = amounts_get(a, name);

	return value == 0 ? otherwise : value;
}

void
amounts_nonzero_of_pod(const json_t *pod, int64_t *ret_cpu, int64_t *ret_memory)
{
	size_t i;
	json_t *container;

	*ret_cpu = 0;
	*ret_memory = 0;
	json_array_foreach(js_at(pod, "spec.containers"), i, container)
	{
		struct amounts one = { 0 };

		amounts_of_container(&one, container);
		*ret_cpu = plus(*ret_cpu, or_default(&one, "cpu", NONZERO_CPU));
		*ret_memory = plus(*ret_memory,
				   or_default(&one, "memory", NONZERO_MEMORY));
		amounts_done(&one);
	}
}

void
amounts_done(struct amounts *a)
{
	for (size_t i = 0; i < a->len; i++)
		free(a->list[i].name);
	free(a->list);
	*a = (struct amounts){ 0 };
}
