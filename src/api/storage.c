/* SPDX-License-Identifier: Apache-2.0 */
#include "api/storage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/text.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"

/* CDI's: the phase of the pod that writes the contents. */
#define ANNOTATION_FILLING "cdi.kubevirt.io/storage.pod.phase"
#define FILLING_DONE "Succeeded"

static const struct {
	const char *name;
	enum access_mode mode;
} modes[] = {
	{ "ReadWriteOnce", ACCESS_RWO },
	{ "ReadOnlyMany", ACCESS_ROX },
	{ "ReadWriteMany", ACCESS_RWX },
	{ "ReadWriteOncePod", ACCESS_RWOP },
};

static unsigned
decode_access(const json_t *array)
{
	unsigned access = 0;
	size_t i;
	json_t *item;

	json_array_foreach(array, i, item)
	{
		for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
			if (json_is_string(item) &&
			    strcmp(json_string_value(item), modes[m].name) == 0)
				access |= modes[m].mode;
		}
	}
	return access;
}

static json_t *
access_json(unsigned access)
{
	json_t *array = json_array();

	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		if ((access & (unsigned)modes[m].mode) != 0)
			(void)json_array_append_new(array,
						    json_string(modes[m].name));
	}
	return array;
}

json_t *
pvc_info_json(const struct pvc *pvc)
{
	char size[24];

	(void)snprintf(size, sizeof(size), "%" PRIu64, pvc->size_bytes);
	return json_pack("{s:s, s:o, s:s, s:{s:s}, s:{s:s}}", "claimName",
			 pvc->meta.name, "accessModes",
			 access_json(pvc->access), "volumeMode",
			 pvc->block ? "Block" : "Filesystem", "capacity",
			 "storage", size, "requests", "storage", size);
}

struct pvc *
pvc_decode(const json_t *object, struct err *err)
{
	AUTO(pvc_unref) struct pvc *pvc = xmalloc0(sizeof(*pvc));

	if (objmeta_decode(object, &pvc->meta, err) == -1)
		return NULL;
	pvc->access = decode_access(js_arr_at(object, "status.accessModes"));
	if (pvc->access == 0)
		pvc->access =
			decode_access(js_arr_at(object, "spec.accessModes"));
	pvc->block = strcmp(js_str_at(object, "spec.volumeMode"), "Block") == 0;
	pvc->bound = strcmp(js_str_at(object, "status.phase"), "Bound") == 0;
	pvc->storage_class = text_at(object, "spec.storageClassName");
	pvc->migration = text_label(object, "kubevirt.io/migrationName");
	pvc->filling = text_annotation(object, ANNOTATION_FILLING);
	pvc->size_bytes = text_bytes(js_at(object, "status.capacity.storage"));
	if (pvc->size_bytes == 0)
		pvc->size_bytes = text_bytes(
			js_at(object, "spec.resources.requests.storage"));
	return TAKE_PTR(pvc);
}

void
pvc_free(struct pvc *pvc)
{
	if (pvc == NULL)
		return;
	objmeta_done(&pvc->meta);
	text_free(pvc->storage_class);
	text_free(pvc->migration);
	text_free(pvc->filling);
	free(pvc);
}

void
pvc_unref(struct pvc **pointer)
{
	pvc_free(*pointer);
	*pointer = NULL;
}

struct storage_profile *
storage_profile_decode(const json_t *object, struct err *err)
{
	AUTO(storage_profile_unref)
	struct storage_profile *profile = xmalloc0(sizeof(*profile));
	const json_t *sets = js_arr_at(object, "status.claimPropertySets");
	size_t i;
	json_t *set;

	if (objmeta_decode(object, &profile->meta, err) == -1)
		return NULL;
	if (sets == NULL)
		sets = js_arr_at(object, "spec.claimPropertySets");
	json_array_foreach(sets, i, set)
	{
		unsigned access = decode_access(js_arr_at(set, "accessModes"));

		if (strcmp(js_str_at(set, "volumeMode"), "Block") == 0)
			profile->access_block |= access;
		else
			profile->access_filesystem |= access;
	}
	return TAKE_PTR(profile);
}

void
storage_profile_free(struct storage_profile *profile)
{
	if (profile == NULL)
		return;
	objmeta_done(&profile->meta);
	free(profile);
}

void
storage_profile_unref(struct storage_profile **pointer)
{
	storage_profile_free(*pointer);
	*pointer = NULL;
}

bool
pvc_is_shared(const struct pvc *pvc)
{
	return (pvc->access & ACCESS_RWX) != 0;
}

bool
pvc_is_filled(const struct pvc *pvc)
{
	return pvc->filling[0] == '\0' ||
	       strcmp(pvc->filling, FILLING_DONE) == 0;
}

const char *
storage_advice(const struct pvc *pvc, const struct storage_profile *profile,
	       char text[STORAGE_ADVICE_SIZE])
{
	const char *mode = pvc->block ? "Block" : "Filesystem";
	unsigned access = profile == NULL ? 0
			  : pvc->block    ? profile->access_block
					  : profile->access_filesystem;

	if (profile == NULL) {
		(void)snprintf(text, STORAGE_ADVICE_SIZE,
			       "No StorageProfile says whether StorageClass "
			       "'%s' can share volumes.",
			       pvc->storage_class);
	} else if ((access & ACCESS_RWX) != 0) {
		(void)snprintf(text, STORAGE_ADVICE_SIZE,
			       "StorageClass '%s' can share %s volumes: with "
			       "its data in a claim that asks for "
			       "ReadWriteMany the machine can move.",
			       pvc->storage_class, mode);
	} else {
		(void)snprintf(text, STORAGE_ADVICE_SIZE,
			       "StorageClass '%s' cannot share %s volumes: the "
			       "machine can move with its data in a claim of "
			       "another class.",
			       pvc->storage_class, mode);
	}
	return text;
}

static enum storage_verdict
judge_claim(const struct vmi_volume *volume, const struct pvc *pvc, char *text,
	    size_t text_size)
{
	if (volume->migrated)
		return STORAGE_COPY;
	if (pvc != NULL && pvc_is_shared(pvc))
		return STORAGE_SHARED;
	(void)snprintf(text, text_size,
		       "cannot migrate VMI: PVC %s is not shared, live "
		       "migration requires that all PVCs must be shared (using "
		       "ReadWriteMany access mode)",
		       volume->claim);
	return STORAGE_BLOCKED;
}

static enum storage_verdict
judge_volume(const struct vmi_volume *volume, const struct pvc *pvc, char *text,
	     size_t text_size)
{
	if (volume->kind == VOLUME_PVC || volume->kind == VOLUME_DATA_VOLUME)
		return judge_claim(volume, pvc, text, text_size);
	if (volume->kind == VOLUME_HOST_DISK && !volume->shared) {
		(void)snprintf(text, text_size,
			       "cannot migrate VMI with non-shared HostDisk");
		return STORAGE_BLOCKED;
	}
	if (volume->kind == VOLUME_HOST_DISK || volume->filesystem ||
	    volume->read_only)
		return STORAGE_SHARED;
	return STORAGE_COPY;
}

enum storage_verdict
storage_judge(const struct vmi *vmi,
	      const struct pvc *(*get)(void *arg, const char *name), void *arg,
	      char *text, size_t text_size)
{
	enum storage_verdict worst = STORAGE_SHARED;

	for (size_t i = 0; i < vmi->volume_count; i++) {
		const struct vmi_volume *volume = &vmi->volumes[i];
		const struct pvc *pvc = volume->claim[0] == '\0'
						? NULL
						: get(arg, volume->claim);
		enum storage_verdict verdict =
			judge_volume(volume, pvc, text, text_size);

		if (verdict == STORAGE_BLOCKED)
			return verdict;
		if (verdict > worst)
			worst = verdict;
	}
	return worst;
}
