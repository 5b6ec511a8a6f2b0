/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "controller/render/render.h"
#include "kube/obj.h"

/* Of the template's metadata only these; the rest is the server's. */
static json_t *
metadata_of(const json_t *vm)
{
	static const char *const members[] = { "labels", "annotations" };
	json_t *metadata =
		json_pack("{s:s, s:s, s:[o]}", "name", obj_name(vm),
			  "namespace", obj_ns(vm), "ownerReferences",
			  obj_owner_ref(&api_vms, obj_name(vm), obj_uid(vm)));

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *from = json_object_get(
			js_obj_at(vm, "spec.template.metadata"), members[i]);

		if (json_object_size(from) > 0)
			json_object_set_new(metadata, members[i],
					    json_deep_copy(from));
	}
	return metadata;
}

/*
 * The guest sees the same machine at every start, so its UUID is that of the
 * VirtualMachine, unless it says another.
 */
static void
set_uuid(json_t *spec, const char *uid)
{
	json_t *firmware = js_make_obj_at(spec, "domain.firmware");

	if (js_at(firmware, "uuid") == NULL)
		json_object_set_new(firmware, "uuid", json_string(uid));
}

json_t *
render_vmi(const json_t *vm, bool paused, struct err *err)
{
	const json_t *from = js_obj_at(vm, "spec.template.spec");
	AUTO(free_ptr) char *version = NULL;
	AUTO(js_unref) json_t *vmi = NULL;
	json_t *spec;
	char text[24];

	if (*obj_name(vm) == '\0' || *obj_ns(vm) == '\0' ||
	    *obj_uid(vm) == '\0') {
		(void)err_set(err, ERR_INVALID,
			      "metadata: the machine has no name, namespace "
			      "or uid");
		return NULL;
	}
	if (js_obj_at(from, "domain") == NULL) {
		(void)err_set(err, ERR_INVALID,
			      "spec.template.spec.domain: is missing");
		return NULL;
	}
	spec = json_deep_copy(from);
	version = kube_api_version(&api_vmis);
	vmi = json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", version, "kind",
			api_vmis.kind, "metadata", metadata_of(vm), "spec",
			spec);
	set_uuid(spec, obj_uid(vm));
	if (paused)
		json_object_set_new(spec, "startStrategy",
				    json_string("Paused"));
	(void)snprintf(text, sizeof(text), "%" PRId64,
		       js_int_at(vm, "metadata.generation", 0));
	(void)obj_set_annotation(vmi, ANNOTATION_VM_GENERATION, text);
	return TAKE_PTR(vmi);
}

json_t *
render_evacuation(const json_t *vmi, const char *node, const char *priority)
{
	AUTO(free_ptr) char *version = kube_api_version(&api_vmims);
	json_t *migration = json_pack(
		"{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:s}}", "apiVersion",
		version, "kind", api_vmims.kind, "metadata", "generateName",
		PREFIX_EVACUATION, "namespace", obj_ns(vmi), "annotations",
		ANNOTATION_EVACUATION, node, "spec", "vmiName", obj_name(vmi));

	if (*priority != '\0')
		json_object_set_new(json_object_get(migration, "spec"),
				    "priority", json_string(priority));
	return migration;
}
