/* SPDX-License-Identifier: Apache-2.0 */
#include "api/placement.h"

#include <string.h>

#include "api/config.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/obj.h"

#define LABEL_ARCH "kubernetes.io/arch"

#define MODEL_HOST "host-model"
#define MODEL_PASSTHROUGH "host-passthrough"

static const char *
cpu_model(const json_t *vmi, const struct kubevirt_config *config)
{
	const char *model = js_str_at(vmi, "spec.domain.cpu.model");

	if (*model == '\0')
		model = config->cpu_model;
	return *model == '\0' ? MODEL_HOST : model;
}

/* prefix and rest are the label, its value is "true". */
static void
require(json_t *selector, const char *prefix, const char *rest)
{
	AUTO(free_ptr) char *label = xasprintf("%s%s", prefix, rest);

	json_object_set_new(selector, label, json_string("true"));
}

static void
overlay(json_t *selector, const json_t *labels)
{
	if (json_is_object(labels))
		json_object_update(selector, (json_t *)(uintptr_t)labels);
}

static void
require_cpu(json_t *selector, const json_t *vmi,
	    const struct kubevirt_config *config)
{
	const char *model = cpu_model(vmi, config);
	json_t *feature;
	size_t i;

	if (!str_equal(model, MODEL_HOST) &&
	    !str_equal(model, MODEL_PASSTHROUGH))
		require(selector, LABEL_CPU_MODEL_PREFIX, model);
	json_array_foreach(js_arr_at(vmi, "spec.domain.cpu.features"), i,
			   feature)
	{
		const char *policy = js_str_at(feature, "policy");

		if (*policy == '\0' || str_equal(policy, "require"))
			require(selector, LABEL_CPU_FEATURE_PREFIX,
				js_str_at(feature, "name"));
	}
}

json_t *
placement_selector(const json_t *vmi, const struct kubevirt_config *config,
		   const json_t *configuration)
{
	const char *arch = js_str_at(vmi, "spec.architecture");
	json_t *selector = json_pack("{s:s}", LABEL_SCHEDULABLE, "true");

	if (*arch != '\0')
		json_object_set_new(selector, LABEL_ARCH, json_string(arch));
	overlay(selector, js_obj_at(configuration,
				    "developerConfiguration.nodeSelectors"));
	overlay(selector, js_obj_at(vmi, "spec.nodeSelector"));
	require_cpu(selector, vmi, config);
	return selector;
}

/* The first label of obj's at path that begins with prefix; NULL for none. */
static const char *
label_with(const json_t *labels, const char *prefix)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)labels, key, value)
	{
		if (str_has_prefix(key, prefix))
			return key;
	}
	return NULL;
}

/*
 * The source pod's own demands on the CPU, when it was itself a target: the
 * guest has the CPU of the node it started on, not of this one, and may go back
 * there.
 */
static void
require_as_before(json_t *selector, const json_t *before)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)before, key, value)
	{
		if (str_has_prefix(key, LABEL_CPU_MIGRATION_PREFIX) ||
		    str_has_prefix(key, LABEL_CPU_FEATURE_PREFIX))
			json_object_set(selector, key, value);
	}
}

static int
require_host_model(json_t *selector, const struct placement_source *source,
		   struct err *err)
{
	const json_t *node = source->node;
	const json_t *labels = js_obj_at(node, "metadata.labels");
	const char *model = label_with(labels, LABEL_HOST_MODEL_PREFIX);
	const char *key;
	json_t *value;

	if (node == NULL)
		return err_set(err, ERR_CONFLICT,
			       "the node of the source pod is gone, and with "
			       "it the CPU model that the target needs");
	if (model == NULL)
		return err_set(err, ERR_CONFLICT,
			       "node '%s' has no label " LABEL_HOST_MODEL_PREFIX
			       "MODEL, which says what the target needs",
			       obj_name(node));
	require(selector, LABEL_CPU_MIGRATION_PREFIX,
		model + strlen(LABEL_HOST_MODEL_PREFIX));
	json_object_foreach((json_t *)(uintptr_t)labels, key, value)
	{
		if (str_has_prefix(key, LABEL_HOST_FEATURES_PREFIX))
			require(selector, LABEL_CPU_FEATURE_PREFIX,
				key + strlen(LABEL_HOST_FEATURES_PREFIX));
	}
	return 0;
}

int
placement_narrow(const json_t *vmi, const struct kubevirt_config *config,
		 const struct placement_source *source, json_t *selector,
		 struct err *err)
{
	const json_t *before = js_obj_at(source->pod, "spec.nodeSelector");
	const char *vendor;

	if (json_is_object(source->added_selector))
		json_object_update_missing(
			selector, (json_t *)(uintptr_t)source->added_selector);
	if (str_equal(cpu_model(vmi, config), MODEL_HOST)) {
		if (label_with(before, LABEL_CPU_MIGRATION_PREFIX) != NULL)
			require_as_before(selector, before);
		else if (require_host_model(selector, source, err) == -1)
			return -1;
	}
	vendor = label_with(js_obj_at(source->node, "metadata.labels"),
			    LABEL_CPU_VENDOR_PREFIX);
	if (vendor != NULL &&
	    label_with(selector, LABEL_CPU_VENDOR_PREFIX) == NULL)
		require(selector, vendor, "");
	return 0;
}
