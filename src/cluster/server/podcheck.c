/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/server/podcheck.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "meta/causes.h"
#include "meta/names.h"
#include "meta/quantity.h"

#define FIELD_SIZE 128

/* The names in a list of the spec, as members of an object; a new reference. */
static json_t *
check_names(const json_t *pod, const char *list, struct causes *causes)
{
	const json_t *items =
		json_object_get(json_object_get(pod, "spec"), list);
	json_t *seen = json_object();
	const json_t *item;
	char field[FIELD_SIZE];
	size_t i;

	json_array_foreach(items, i, item)
	{
		const json_t *name = json_object_get(item, "name");
		const char *text = json_string_value(name);

		if (text == NULL)
			continue;
		(void)snprintf(field, sizeof(field), "spec.%s[%zu].name", list,
			       i);
		name_check_field(NAME_DNS1123_LABEL, text, field, causes);
		if (json_object_get(seen, text) != NULL)
			causes_duplicate(causes, field, name);
		json_object_set_new(seen, text, json_true());
	}
	return seen;
}

static void
check_mounts(const json_t *container, const char *prefix, const json_t *volumes,
	     struct causes *causes)
{
	const json_t *mount;
	char field[FIELD_SIZE];
	size_t i;

	json_array_foreach(json_object_get(container, "volumeMounts"), i, mount)
	{
		const char *name =
			json_string_value(json_object_get(mount, "name"));

		if (name == NULL || json_object_get(volumes, name) != NULL)
			continue;
		(void)snprintf(field, sizeof(field),
			       "%s.volumeMounts[%zu].name", prefix, i);
		causes_not_found(causes, field, name);
	}
}

static bool
is_more(const char *a, const char *b)
{
	struct quantity x, y;
	struct err err;

	return quantity_parse(a, &x, &err) == 0 &&
	       quantity_parse(b, &y, &err) == 0 && quantity_cmp(&x, &y) > 0;
}

static void
check_requests(const json_t *container, const char *prefix,
	       struct causes *causes)
{
	const json_t *limits = js_at(container, "resources.limits");
	const json_t *request;
	char field[FIELD_SIZE];
	const char *name;

	(void)snprintf(field, sizeof(field), "%s.resources.requests", prefix);
	json_object_foreach(js_at(container, "resources.requests"), name,
			    request)
	{
		const char *wanted = json_string_value(request);
		const char *limit =
			json_string_value(json_object_get(limits, name));
		AUTO(free_ptr) char *text = NULL;

		if (wanted == NULL || limit == NULL || !is_more(wanted, limit))
			continue;
		text = xasprintf("must be less than or equal to %s limit of %s",
				 name, limit);
		causes_invalid_str(causes, field, wanted, text);
	}
}

void
podcheck_containers(const json_t *pod, struct causes *causes)
{
	static const char *const lists[] = { "containers", "initContainers" };
	AUTO(js_unref) json_t *volumes = check_names(pod, "volumes", causes);
	const json_t *container;
	char prefix[FIELD_SIZE / 2];
	size_t k;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		json_decref(check_names(pod, lists[i], causes));
		json_array_foreach(
			json_object_get(json_object_get(pod, "spec"), lists[i]),
			k, container)
		{
			(void)snprintf(prefix, sizeof(prefix), "spec.%s[%zu]",
				       lists[i], k);
			check_mounts(container, prefix, volumes, causes);
			check_requests(container, prefix, causes);
		}
	}
}
