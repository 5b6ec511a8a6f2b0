/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent of a node may change on a Node. */
#include "api/check.h"

#include <stdlib.h>
#include <string.h>

#include "api/check_internal.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"

#define DOMAIN "kubevirt.io"

/* Whether a key is KubeVirt's: "kubevirt.io/x", "x.node.kubevirt.io/y". */
static bool
is_own_key(const char *key)
{
	const char *slash = strchr(key, '/');
	AUTO(free_ptr) char *domain = NULL;

	if (slash == NULL)
		return false;
	domain = xstrndup(key, (size_t)(slash - key));
	return str_equal(domain, DOMAIN) || str_has_suffix(domain, "." DOMAIN);
}

/* The first member that is not KubeVirt's and differs; NULL. */
static const char *
changed_key(const json_t *before, const json_t *now)
{
	const char *key;
	const json_t *value;

	json_object_foreach((json_t *)(uintptr_t)before, key, value)
	{
		if (!is_own_key(key) &&
		    !check_same(value, json_object_get(now, key)))
			return key;
	}
	json_object_foreach((json_t *)(uintptr_t)now, key, value)
	{
		if (!is_own_key(key) && json_object_get(before, key) == NULL)
			return key;
	}
	return NULL;
}

/* The object without what the agent may change and what the server keeps. */
static json_t *
rest_of(const json_t *object)
{
	static const char *const free_members[] = { "labels", "annotations",
						    "managedFields",
						    "resourceVersion",
						    "generation" };
	json_t *rest = json_deep_copy(object);
	json_t *meta = js_obj_at(rest, "metadata");

	for (size_t i = 0; i < ARRAY_LEN(free_members); i++)
		(void)json_object_del(meta, free_members[i]);
	return rest;
}

int
node_check_update(const json_t *old_object, const json_t *new_object,
		  const char *node, struct status *st)
{
	static const char *const maps[] = { "metadata.labels",
					    "metadata.annotations" };
	AUTO(js_unref) json_t *before = rest_of(old_object);
	AUTO(js_unref) json_t *now = rest_of(new_object);

	if (node == NULL || node[0] == '\0')
		return check_deny(st, CHECK_INVALID, NULL,
				  "Node restriction, the token of the agent "
				  "names no node");
	if (!str_equal(js_str_at(old_object, "metadata.name"), node))
		return check_deny(st, CHECK_INVALID, NULL,
				  "Node restriction, the agent of '%s' may "
				  "change no other node",
				  node);
	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		const char *key = changed_key(js_obj_at(old_object, maps[i]),
					      js_obj_at(new_object, maps[i]));

		if (key != NULL)
			return check_deny(st, CHECK_INVALID, maps[i],
					  "Node restriction, the agent may not "
					  "change '%s'",
					  key);
	}
	if (!check_same(before, now))
		return check_deny(st, CHECK_INVALID, NULL,
				  "Node restriction, the agent may change "
				  "labels and annotations only");
	return 0;
}
