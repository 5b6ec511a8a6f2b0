/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/disks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define QCOW2_MAGIC "QFI\xfb"
#define QCOW2_MAGIC_LEN 4

static const struct {
	const char *name;
	const char *prefix; /* of targets */
} buses[] = {
	[BUS_VIRTIO] = { "virtio", "vd" },
	[BUS_SATA] = { "sata", "sd" },
	[BUS_SCSI] = { "scsi", "sd" },
	[BUS_USB] = { "usb", "sd" },
};
_Static_assert(ARRAY_LEN(buses) == BUS_COUNT, "a row per bus");

static const struct {
	const char *member;
	enum disk_kind kind;
	const char *format;
} kinds[] = {
	{ "containerDisk", DISK_CONTAINER, "qcow2" },
	{ "emptyDisk", DISK_EMPTY, "qcow2" },
	{ "cloudInitNoCloud", DISK_CLOUD_INIT, "raw" },
	{ "persistentVolumeClaim", DISK_CLAIM, "raw" },
	{ "dataVolume", DISK_CLAIM, "raw" },
	{ "hostDisk", DISK_HOST, "raw" },
};

/* "vda", ..., "vdz", "vdaa", ...: the n-th of a prefix. */
static char *
target_name(const char *prefix, size_t n)
{
	char letters[8];
	size_t len = sizeof(letters);

	letters[--len] = '\0';
	for (n++; n > 0 && len > 0; n = (n - 1) / 26)
		letters[--len] = (char)('a' + (n - 1) % 26);
	return xasprintf("%s%s", prefix, letters + len);
}

static int
find_source(const json_t *vmi, struct disk *disk, struct err *err)
{
	const json_t *volume =
		js_find(js_arr_at(vmi, "spec.volumes"), "name", disk->volume);

	if (volume == NULL)
		return err_set(err, ERR_INVALID,
			       "spec.domain.devices.disks: there is no volume "
			       "'%s'",
			       disk->volume);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const json_t *source = js_obj_at(volume, kinds[i].member);

		if (source == NULL)
			continue;
		disk->kind = kinds[i].kind;
		disk->format = kinds[i].format;
		disk->source = source;
		return 0;
	}
	return err_set(err, ERR_INVALID,
		       "spec.volumes: '%s' is of a kind that cannot be used",
		       disk->volume);
}

static int
find_bus(struct disk *disk, struct err *err)
{
	const json_t *how = js_obj_at(disk->spec, "cdrom");
	const char *bus;

	disk->cdrom = how != NULL;
	if (how == NULL)
		how = js_obj_at(disk->spec, "disk");
	disk->read_only = js_bool_at(how, "readonly", disk->cdrom);
	bus = js_str_at(how, "bus");
	if (*bus == '\0')
		bus = buses[BUS_SATA].name;
	for (size_t i = 0; i < ARRAY_LEN(buses); i++) {
		if (str_equal(buses[i].name, bus)) {
			disk->bus = (enum disk_bus)i;
			return 0;
		}
	}
	return err_set(err, ERR_INVALID,
		       "spec.domain.devices.disks: '%s' has the bus '%s', "
		       "which does not exist",
		       disk->volume, bus);
}

/* What the API says about the claim of a volume. */
static const json_t *
claim_info(const json_t *vmi, const char *volume)
{
	const json_t *status =
		js_find(js_arr_at(vmi, "status.volumeStatus"), "name", volume);

	return js_obj_at(status, "persistentVolumeClaimInfo");
}

static bool
is_migrated(const json_t *vmi, const char *volume)
{
	return js_find(js_arr_at(vmi, "status.migratedVolumes"), "volumeName",
		       volume) != NULL;
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static void
place(const json_t *vmi, const struct disk_dirs *dirs, struct disk *disk)
{
	const json_t *info = NULL;

	switch (disk->kind) {
	case DISK_CONTAINER:
		disk->path = xasprintf("%s/disk-data/%s/disk.qcow2",
				       dirs->ephemeral, disk->volume);
		break;
	case DISK_EMPTY:
		disk->path = xasprintf("%s/empty-disks/%s.qcow2",
				       dirs->ephemeral, disk->volume);
		disk->size = text_bytes(js_at(disk->source, "capacity"));
		break;
	case DISK_CLOUD_INIT:
		disk->path = xasprintf("%s/cloud-init/%s/noCloud.iso",
				       dirs->ephemeral, disk->volume);
		break;
	case DISK_CLAIM:
		info = claim_info(vmi, disk->volume);
		disk->path = xasprintf("%s/vmi-disks/%s/disk.img",
				       dirs->private, disk->volume);
		disk->size = text_bytes(js_at(info, "capacity.storage"));
		/* One that is not shared does not move, unless it is being
		 * moved to another claim. */
		disk->shared = !is_migrated(vmi, disk->volume);
		disk->read_only = disk->read_only ||
				  js_bool_at(disk->source, "readOnly", false);
		break;
	case DISK_HOST:
		disk->path = xasprintf(
			"%s/vmi-disks/%s/%s", dirs->private, disk->volume,
			base_name(js_str_at(disk->source, "path")));
		disk->size = text_bytes(js_at(disk->source, "capacity"));
		disk->shared = js_bool_at(disk->source, "shared", false);
		break;
	case DISK_KIND_COUNT:
		break;
	}
}

static int
plan_one(const json_t *vmi, const struct disk_dirs *dirs, struct disk *disk,
	 struct err *err)
{
	const char *name = js_str_at(disk->spec, "name");

	disk->volume = xstrdup(name);
	/* It becomes part of file names. */
	if (!str_is_name(name, 63))
		return err_set(err, ERR_INVALID,
			       "spec.domain.devices.disks: '%s' is no name",
			       name);
	if (find_source(vmi, disk, err) == -1 || find_bus(disk, err) == -1)
		return -1;
	place(vmi, dirs, disk);
	return 0;
}

int
disks_plan(const json_t *vmi, const struct disk_dirs *dirs,
	   struct disks *ret_disks, struct err *err)
{
	const json_t *list = js_arr_at(vmi, "spec.domain.devices.disks");
	struct disks disks = { 0 };
	size_t virtio = 0, others = 0;

	if (json_array_size(list) > DISKS_MAX)
		return err_set(err, ERR_LIMIT,
			       "spec.domain.devices.disks: more than %d",
			       DISKS_MAX);
	disks.items = xcalloc(json_array_size(list), sizeof(*disks.items));
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct disk *disk = &disks.items[disks.count++];

		disk->spec = json_array_get(list, i);
		if (plan_one(vmi, dirs, disk, err) == -1) {
			disks_done(&disks);
			return -1;
		}
		disk->target = target_name(buses[disk->bus].prefix,
					   disk->bus == BUS_VIRTIO ? virtio++
								   : others++);
	}
	*ret_disks = disks;
	return 0;
}

void
disks_done(struct disks *disks)
{
	for (size_t i = 0; i < disks->count; i++) {
		free(disks->items[i].volume);
		free(disks->items[i].target);
		free(disks->items[i].path);
		free(disks->items[i].backing);
	}
	free(disks->items);
	*disks = (struct disks){ 0 };
}

bool
disk_is_copied(const struct disk *disk)
{
	return !disk->cdrom && !disk->read_only && !disk->shared;
}

/* The only file in a directory; the caller frees. */
static char *
only_file(const char *dir, struct err *err)
{
	DIR *entries = opendir(dir);
	const struct dirent *entry;
	char *found = NULL;

	if (entries == NULL) {
		(void)err_errno(err, "cannot look into '%s'", dir);
		return NULL;
	}
	while ((entry = readdir(entries)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (found != NULL) {
			(void)err_set(err, ERR_INVALID,
				      "more than one file in '%s': "
				      "containerDisk.path must name one",
				      dir);
			(void)closedir(entries);
			free(found);
			return NULL;
		}
		found = xasprintf("%s/%s", dir, entry->d_name);
	}
	(void)closedir(entries);
	if (found == NULL)
		(void)err_set(err, ERR_NOT_FOUND, "there is no disk in '%s'",
			      dir);
	return found;
}

/* Below the volume's directory, and through no symbolic link: the image is
 * somebody else's. */
static int
find_image(struct disk *disk, const struct disk_dirs *dirs, struct err *err)
{
	AUTO(free_ptr)
	char *root = xasprintf("%s/%s", dirs->containers, disk->volume);
	const char *said = js_str_at(disk->source, "path");
	char magic[QCOW2_MAGIC_LEN] = { 0 };
	AUTO(free_ptr) char *in_disk = NULL;
	AUTO(close_fd) int dir_fd = -1;
	AUTO(close_fd) int fd = -1;

	if (*said != '\0') {
		while (*said == '/')
			said++;
		disk->backing = xasprintf("%s/%s", root, said);
	} else {
		in_disk = xasprintf("%s/disk", root);
		disk->backing = only_file(in_disk, err);
		if (disk->backing == NULL)
			return -1;
	}
	/* The directory itself is the pod's; /var/run is a link. */
	dir_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd == -1)
		return err_errno(err, "cannot open '%s'", root);
	if (path_open_at(dir_fd, disk->backing + strlen(root) + 1,
			 O_RDONLY | O_NONBLOCK, 0, &fd, err) == -1)
		return err_prefix(err, "volume '%s'", disk->volume);
	if (read(fd, magic, sizeof(magic)) == -1)
		return err_errno(err, "cannot read '%s'", disk->backing);
	disk->backing_format = memcmp(magic, QCOW2_MAGIC, QCOW2_MAGIC_LEN) == 0
				       ? "qcow2"
				       : "raw";
	return 0;
}

static void
find_device(struct disk *disk, const struct disk_dirs *dirs)
{
	AUTO(free_ptr)
	char *device = xasprintf("%s/%s", dirs->devices, disk->volume);
	struct stat st;

	if (stat(device, &st) == -1 || !S_ISBLK(st.st_mode))
		return;
	disk->block = true;
	free(disk->path);
	disk->path = TAKE_PTR(device);
}

int
disks_examine(struct disks *disks, const struct disk_dirs *dirs,
	      struct err *err)
{
	for (size_t i = 0; i < disks->count; i++) {
		struct disk *disk = &disks->items[i];

		if (disk->kind == DISK_CONTAINER &&
		    find_image(disk, dirs, err) == -1)
			return -1;
		if (disk->kind == DISK_CLAIM)
			find_device(disk, dirs);
	}
	return 0;
}
