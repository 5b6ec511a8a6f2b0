/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/config.h"
#include "api/names.h"
#include "api/placement.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "controller/render/networks.h"
#include "controller/render/pod.h"
#include "controller/render/render.h"
#include "controller/render/volumes.h"
#include "kube/obj.h"

/* user:role:type:level, of which the level may have colons. */
#define CONTEXT_PARTS_BEFORE_LEVEL 3

/*
 * Files that the machine shares with its source are labelled for the source's
 * level, so the target has to have the same.
 */
static int
match_selinux_level(const json_t *vmi, const struct render_env *env,
		    json_t *spec, struct err *err)
{
	const char *context = js_str_at(vmi, "status.selinuxContext");
	const char *level = context;

	if (env->config->migrations.match_selinux_level == TRISTATE_FALSE ||
	    str_equal(context, "none"))
		return 0;
	if (*context == '\0')
		return err_set(err, ERR_CONFLICT,
			       "VMI is missing SELinux context");
	for (int i = 0; i < CONTEXT_PARTS_BEFORE_LEVEL; i++) {
		level = strchr(level, ':');
		if (level == NULL)
			return err_set(
				err, ERR_CONFLICT,
				"VMI has invalid SELinux context: %.128s",
				context);
		level++;
	}
	json_object_set_new(
		js_make_obj_at(spec, "securityContext.seLinuxOptions"), "level",
		json_string(level));
	return 0;
}

/* The pod must not be where another of the instance is. */
static void
keep_apart(json_t *spec, const char *vmi_uid)
{
	static const char required[] =
		"requiredDuringSchedulingIgnoredDuringExecution";
	json_t *anti = js_make_obj_at(spec, "affinity.podAntiAffinity");
	json_t *terms = json_object_get(anti, required);

	if (!json_is_array(terms)) {
		terms = json_array();
		json_object_set_new(anti, required, terms);
	}
	json_array_append_new(terms, json_pack("{s:{s:{s:s}}, s:s}",
					       "labelSelector", "matchLabels",
					       LABEL_CREATED_BY, vmi_uid,
					       "topologyKey", LABEL_HOSTNAME));
}

json_t *
render_target_pod(const json_t *vmi, const struct render_env *env,
		  const struct render_migration *migration, struct err *err)
{
	AUTO(js_unref) json_t *references = NULL;
	AUTO(js_unref) json_t *pod = NULL;
	const struct placement_source source = {
		.added_selector = migration->added_node_selector,
		.pod = migration->source_pod,
		.node = migration->source_node,
	};
	json_t *spec;

	references = volumes_references(vmi, migration->source_pod, err);
	if (references == NULL)
		return NULL;
	pod = pod_render(vmi, env, references, err);
	if (pod == NULL)
		return NULL;
	(void)obj_set_label(pod, LABEL_MIGRATION_UID, migration->uid);
	(void)obj_set_annotation(pod, ANNOTATION_MIGRATION_NAME,
				 migration->name);
	spec = js_obj_at(pod, "spec");
	keep_apart(spec, obj_uid(vmi));
	if (placement_narrow(vmi, env->config, &source,
			     js_obj_at(spec, "nodeSelector"), err) == -1 ||
	    match_selinux_level(vmi, env, spec, err) == -1 ||
	    networks_annotate(vmi, networks_are_ordinal(migration->source_pod),
			      js_make_obj_at(pod, "metadata.annotations"),
			      err) == -1)
		return NULL;
	return TAKE_PTR(pod);
}
