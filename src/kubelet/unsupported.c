/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/unsupported.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"

static const char *const lists[] = { "initContainers", "containers" };

static const char *const of_pods[] = {
	"activeDeadlineSeconds",
	"ephemeralContainers",
	"shareProcessNamespace",
};

/* restartPolicy: an init container that goes on beside the others. */
static const char *const of_containers[] = {
	"livenessProbe", "readinessProbe", "startupProbe",
	"lifecycle",     "volumeDevices",  "restartPolicy",
};

/* Set, and not to the nothing that some write. */
static bool
is_set(const json_t *value)
{
	if (json_is_object(value))
		return json_object_size(value) > 0;
	if (json_is_array(value))
		return json_array_size(value) > 0;
	return value != NULL && !json_is_null(value) && !json_is_false(value);
}

/* The first of these that is there; NULL. */
static const char *
find(const json_t *object, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is_set(json_object_get(object, names[i])))
			return names[i];
	}
	return NULL;
}

static int
refuse(struct err *err, const char *path)
{
	return err_set(err, ERR_INVALID,
		       "%s is nothing that ferry-kubelet does", path);
}

static int
check_list(const json_t *spec, const char *list, struct err *err)
{
	const json_t *container;
	size_t i;

	json_array_foreach(json_object_get(spec, list), i, container)
	{
		const char *name = find(container, of_containers,
					ARRAY_LEN(of_containers));
		AUTO(free_ptr)
		char *path = xasprintf("spec.%s[%zu].%s", list, i,
				       name == NULL ? "" : name);

		if (name != NULL)
			return refuse(err, path);
	}
	return 0;
}

int
unsupported_check(const json_t *pod, struct err *err)
{
	const json_t *spec = js_obj_at(pod, "spec");
	const char *name = find(spec, of_pods, ARRAY_LEN(of_pods));
	AUTO(free_ptr)
	char *path = xasprintf("spec.%s", name == NULL ? "" : name);

	if (name != NULL)
		return refuse(err, path);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (check_list(spec, lists[i], err) == -1)
			return -1;
	}
	return 0;
}
