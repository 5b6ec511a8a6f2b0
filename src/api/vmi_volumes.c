/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vmi_volumes.h"

#include <stdlib.h>

#include "api/text.h"
#include "base/array.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"

static const struct source {
	const char *member;
	enum volume_kind kind;
	const char *claim; /* member with the claim's name */
} sources[] = {
	{ "containerDisk", VOLUME_CONTAINER_DISK, NULL },
	{ "persistentVolumeClaim", VOLUME_PVC, "claimName" },
	{ "dataVolume", VOLUME_DATA_VOLUME, "name" },
	{ "hostDisk", VOLUME_HOST_DISK, NULL },
	{ "emptyDisk", VOLUME_EMPTY_DISK, NULL },
	{ "cloudInitNoCloud", VOLUME_CLOUD_INIT, NULL },
	{ "cloudInitConfigDrive", VOLUME_CLOUD_INIT, NULL },
	{ "ephemeral", VOLUME_EPHEMERAL, "persistentVolumeClaim.claimName" },
	{ "configMap", VOLUME_CONFIG, NULL },
	{ "secret", VOLUME_CONFIG, NULL },
	{ "serviceAccount", VOLUME_CONFIG, NULL },
	{ "downwardAPI", VOLUME_CONFIG, NULL },
	{ "downwardMetrics", VOLUME_CONFIG, NULL },
	{ "sysprep", VOLUME_CONFIG, NULL },
	{ "memoryDump", VOLUME_OTHER, "claimName" },
};

static const struct source *
find_source(const json_t *volume, size_t *ret_count)
{
	const struct source *found = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		if (js_at(volume, sources[i].member) == NULL)
			continue;
		found = &sources[i];
		(*ret_count)++;
	}
	return *ret_count == 1 ? found : NULL;
}

const char *
vmi_volume_source(const json_t *volume, size_t *ret_count)
{
	const struct source *source = find_source(volume, ret_count);

	return source == NULL ? NULL : source->member;
}

/* Whether the guest cannot write to it; CD-ROMs can be writable. */
static bool
disk_is_read_only(const json_t *disk)
{
	const json_t *cdrom = js_obj_at(disk, "cdrom");

	if (cdrom != NULL)
		return js_bool_at(cdrom, "readonly", true);
	return js_bool_at(disk, "disk.readonly", false) ||
	       js_bool_at(disk, "lun.readonly", false);
}

static void
decode_volume(const json_t *volume, struct vmi_volume *ret_volume)
{
	size_t count;
	const struct source *source = find_source(volume, &count);
	const json_t *obj;

	*ret_volume = (struct vmi_volume){ .name = text_at(volume, "name") };
	if (source == NULL) {
		ret_volume->claim = text_new("");
		return;
	}
	obj = js_obj_at(volume, source->member);
	ret_volume->kind = source->kind;
	ret_volume->claim = source->claim == NULL ? text_new("")
						  : text_at(obj, source->claim);
	ret_volume->size_bytes = text_bytes(js_at(obj, "capacity"));
	ret_volume->hotplug = js_bool_at(obj, "hotpluggable", false);
	ret_volume->shared = source->kind == VOLUME_HOST_DISK &&
			     js_bool_at(obj, "shared", false);
	ret_volume->read_only = js_bool_at(obj, "readOnly", false);
}

int
vmi_volumes_decode(const json_t *object, struct vmi *vmi, struct err *err)
{
	const json_t *volumes = js_arr_at(object, "spec.volumes");
	const json_t *disks = js_arr_at(object, "spec.domain.devices.disks");
	const json_t *filesystems =
		js_arr_at(object, "spec.domain.devices.filesystems");
	const json_t *migrated = js_arr_at(object, "status.migratedVolumes");
	/* Nodes write it: a list that cannot be true is none. */
	bool is_migrated = json_array_size(migrated) <= VMI_VOLUMES_MAX;
	size_t count = json_array_size(volumes);

	/* Each volume is looked up in lists of the same length. */
	if (count > VMI_VOLUMES_MAX ||
	    json_array_size(disks) > VMI_VOLUMES_MAX ||
	    json_array_size(filesystems) > VMI_VOLUMES_MAX)
		return err_set(err, ERR_LIMIT, "more than %d volumes or disks",
			       VMI_VOLUMES_MAX);
	if (count == 0)
		return 0;
	vmi->volumes = xcalloc(count, sizeof(*vmi->volumes));
	for (size_t i = 0; i < count; i++) {
		struct vmi_volume *volume = &vmi->volumes[i];
		const json_t *disk;

		decode_volume(json_array_get(volumes, i), volume);
		vmi->volume_count++;
		disk = js_find(disks, "name", volume->name);
		if (disk != NULL && disk_is_read_only(disk))
			volume->read_only = true;
		volume->filesystem =
			js_find(filesystems, "name", volume->name) != NULL;
		volume->migrated =
			is_migrated &&
			js_find(migrated, "volumeName", volume->name) != NULL;
	}
	return 0;
}

void
vmi_volumes_done(struct vmi *vmi)
{
	for (size_t i = 0; i < vmi->volume_count; i++) {
		text_free(vmi->volumes[i].name);
		text_free(vmi->volumes[i].claim);
	}
	free(vmi->volumes);
	vmi->volumes = NULL;
	vmi->volume_count = 0;
}
