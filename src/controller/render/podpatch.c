/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/render/podpatch.h"

#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kube/obj.h"

static json_t *
patch_of(json_t *annotations)
{
	return json_pack("{s:{s:O}}", "metadata", "annotations", annotations);
}

/* Adds to changes what makes the pod's annotation this; NULL: none. */
static void
change(json_t *changes, const json_t *pod, const char *key, const char *value)
{
	if (str_equal(obj_annotation(pod, key), value))
		return;
	json_object_set_new(changes, key,
			    value == NULL ? json_null() : json_string(value));
}

json_t *
podpatch_descheduler(const json_t *vmi, const json_t *pod)
{
	static const char *const wishes[] = {
		"descheduler.alpha.kubernetes.io/evict",
		"descheduler.alpha.kubernetes.io/prefer-no-eviction",
	};
	const char *leaves = js_str_at(vmi, "status.evacuationNodeName");
	AUTO(js_unref) json_t *changes = json_object();

	change(changes, pod, ANNOTATION_EVICTING,
	       *leaves == '\0' ? NULL : "true");
	for (size_t i = 0; i < ARRAY_LEN(wishes); i++)
		change(changes, pod, wishes[i], obj_annotation(vmi, wishes[i]));
	return json_object_size(changes) == 0 ? NULL : patch_of(changes);
}

json_t *
podpatch_target_ready(const char *time)
{
	AUTO(js_unref)
	json_t *annotations = json_pack("{s:s}", ANNOTATION_TARGET_READY, time);

	return patch_of(annotations);
}
