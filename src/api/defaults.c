/* SPDX-License-Identifier: Apache-2.0 */
#include "api/defaults.h"

#include <string.h>

#include "api/config.h"
#include "api/names.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/jsat.h"
#include "kube/obj.h"

#define GRACE_PERIOD_S 30

/* Takes the reference of value. */
static void
set_missing(json_t *obj, const char *name, json_t *value)
{
	if (js_at(obj, name) == NULL)
		(void)json_object_set_new(obj, name, value);
	else
		json_decref(value);
}

static void
set_missing_text(json_t *obj, const char *name, const char *text)
{
	if (js_str_at(obj, name)[0] == '\0')
		(void)json_object_set_new(obj, name, json_string(text));
}

/* The array that is a member of obj; made when there is none. */
static json_t *
make_array(json_t *obj, const char *name)
{
	if (!json_is_array(json_object_get(obj, name)))
		(void)json_object_set_new(obj, name, json_array());
	return json_object_get(obj, name);
}

void
vmim_set_defaults(json_t *object)
{
	const char *name = js_str_at(object, "spec.vmiName");

	(void)obj_set_label(object, LABEL_VMI_NAME,
			    name[0] == '\0' ? NULL : name);
	(void)obj_add_finalizer(object, FINALIZER_MIGRATION);
}

static void
set_cpu(json_t *domain, const struct kubevirt_config *config)
{
	static const char *const parts[] = { "sockets", "cores", "threads" };
	json_t *cpu = js_make_obj_at(domain, "cpu");

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		/* Zero is what is not said, as in Go. */
		if (js_int_at(cpu, parts[i], 0) == 0)
			(void)json_object_set_new(cpu, parts[i],
						  json_integer(1));
	}
	set_missing_text(cpu, "model",
			 config->cpu_model[0] == '\0' ? "host-model"
						      : config->cpu_model);
}

static void
set_bus(json_t *disk)
{
	static const char *const kinds[] = { "disk", "cdrom", "lun" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		json_t *target = js_obj_at(disk, kinds[i]);

		if (target == NULL)
			continue;
		found = true;
		if (i < 2)
			set_missing_text(target, "bus", "sata");
	}
	if (!found)
		set_missing(disk, "disk", json_pack("{s:s}", "bus", "sata"));
}

static void
set_disks(json_t *spec, json_t *devices)
{
	const json_t *volumes = js_arr_at(spec, "volumes");
	const json_t *filesystems = js_arr_at(devices, "filesystems");
	json_t *disks;
	size_t i;
	json_t *item;

	/* More are refused; each volume is looked up in the list of disks. */
	if (json_array_size(volumes) == 0 ||
	    json_array_size(volumes) > VMI_VOLUMES_MAX ||
	    json_array_size(js_arr_at(devices, "disks")) > VMI_VOLUMES_MAX)
		return;
	disks = make_array(devices, "disks");
	json_array_foreach(volumes, i, item)
	{
		const char *name = js_str_at(item, "name");

		if (name[0] != '\0' && js_find(disks, "name", name) == NULL &&
		    js_find(filesystems, "name", name) == NULL)
			(void)json_array_append_new(
				disks, json_pack("{s:s}", "name", name));
	}
	json_array_foreach(disks, i, item)
	{
		if (json_is_object(item))
			set_bus(item);
	}
}

static void
set_networks(json_t *spec, json_t *devices,
	     const struct kubevirt_config *config)
{
	json_t *interfaces = js_arr_at(devices, "interfaces");
	size_t i;
	json_t *item;

	if (json_array_size(interfaces) == 0 &&
	    json_array_size(js_arr_at(spec, "networks")) == 0 &&
	    js_bool_at(devices, "autoattachPodInterface", true)) {
		interfaces = make_array(devices, "interfaces");
		(void)json_array_append_new(
			interfaces, json_pack("{s:s, s:{}}", "name", "default",
					      config->default_interface));
		(void)json_array_append_new(
			make_array(spec, "networks"),
			json_pack("{s:s, s:{}}", "name", "default", "pod"));
	}
	json_array_foreach(interfaces, i, item)
	{
		if (json_is_object(item))
			set_missing_text(item, "model", "virtio");
	}
}

static void
set_machine(json_t *domain, const struct kubevirt_config *config)
{
	set_missing_text(
		js_make_obj_at(domain, "machine"), "type",
		config->machine_type[0] == '\0' ? "q35" : config->machine_type);
}

void
vm_set_defaults(json_t *object, const struct kubevirt_config *config)
{
	json_t *spec = js_obj_at(object, "spec.template.spec");

	/* Without a template it is refused. */
	if (spec != NULL)
		set_machine(js_make_obj_at(spec, "domain"), config);
}

void
vmi_set_defaults(json_t *object, const struct kubevirt_config *config,
		 const char *uuid)
{
	json_t *spec = js_make_obj_at(object, "spec");
	json_t *domain = js_make_obj_at(spec, "domain");
	json_t *devices = js_make_obj_at(domain, "devices");

	(void)obj_add_finalizer(object, FINALIZER_VMI);
	set_cpu(domain, config);
	set_machine(domain, config);
	set_missing_text(js_make_obj_at(domain, "firmware"), "uuid", uuid);
	set_missing(js_make_obj_at(domain, "features"), "acpi",
		    json_pack("{s:b}", "enabled", true));
	set_missing(spec, "terminationGracePeriodSeconds",
		    json_integer(GRACE_PERIOD_S));
	set_disks(spec, devices);
	set_networks(spec, devices, config);
}
