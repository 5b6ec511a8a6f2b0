/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/diskmake.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/children.h"
#include "launcher/cloudinit.h"
#include "launcher/files.h"

#define QEMU_IMG_TIMEOUT_MS 60000U
#define FILE_MODE 0600
/* As KubeVirt has it: what a file system needs of a claim for itself. */
#define CLAIM_OVERHEAD_PERMILLE 55U
/* Of a disk in a claim; what QEMU can open whatever the file system below asks
 * for, and as KubeVirt has it. */
#define CLAIM_ALIGNMENT (UINT64_C(1) << 20)

static bool
exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* An empty image, over another one or of a size. */
static int
make_qcow2(struct children *children, const struct disk *disk, const char *path,
	   struct err *err)
{
	char size[32];
	const char *over[] = {
		"qemu-img", "create", "-q", "-f", "qcow2", "-b",
		NULL,       "-F",     NULL, path, NULL,    NULL
	};
	const char *alone[] = { "qemu-img", "create", "-q", "-f",
				"qcow2",    path,     size, NULL };

	(void)snprintf(size, sizeof(size), "%" PRIu64, disk->size);
	if (disk->backing == NULL) {
		if (disk->size == 0)
			return err_set(err, ERR_INVALID,
				       "its capacity is not said");
		return children_run(children, alone, NULL, QEMU_IMG_TIMEOUT_MS,
				    err);
	}
	over[6] = disk->backing;
	over[8] = disk->backing_format;
	if (disk->size > 0)
		over[10] = size;
	return children_run(children, over, NULL, QEMU_IMG_TIMEOUT_MS, err);
}

static int
make_raw(const char *path, uint64_t size, struct err *err)
{
	AUTO(close_fd) int fd = -1;

	if (size == 0)
		return err_set(err, ERR_NOT_FOUND,
			       "there is no disk, and how large it should be "
			       "is not said");
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (fd == -1)
		return err_errno(err, "cannot make '%s'", path);
	if (ftruncate(fd, (off_t)size) == -1)
		return err_errno(err, "cannot make '%s' of %" PRIu64 " bytes",
				 path, size);
	return 0;
}

static uint64_t
claim_room(uint64_t capacity)
{
	return capacity / 1000 * (1000 - CLAIM_OVERHEAD_PERMILLE) /
	       CLAIM_ALIGNMENT * CLAIM_ALIGNMENT;
}

static int
make_at(struct children *children, const json_t *vmi, const struct disk *disk,
	const struct disk_dirs *dirs, const char *path, struct err *err)
{
	const char *type = js_str_at(disk->source, "type");

	switch (disk->kind) {
	case DISK_CONTAINER:
	case DISK_EMPTY:
		return make_qcow2(children, disk, path, err);
	case DISK_CLOUD_INIT:
		return cloudinit_make(children, vmi, disk, dirs, path, err);
	case DISK_CLAIM:
		return make_raw(path, claim_room(disk->size), err);
	case DISK_HOST:
		if (!str_equal(type, "DiskOrCreate"))
			return err_set(err, ERR_NOT_FOUND,
				       "there is no file '%s'",
				       js_str_at(disk->source, "path"));
		return make_raw(path, disk->size, err);
	case DISK_KIND_COUNT:
		break;
	}
	return err_set(err, ERR_INTERNAL, "unknown kind");
}

static int
make_one(struct children *children, const json_t *vmi, const struct disk *disk,
	 const struct disk_dirs *dirs, struct err *err)
{
	AUTO(free_ptr) char *beside = xasprintf("%s.new", disk->path);

	if (disk->block || exists(disk->path))
		return 0;
	if (files_make_dir_of(disk->path, err) == -1)
		return -1;
	/* Of one that was killed before. */
	(void)unlink(beside);
	if (make_at(children, vmi, disk, dirs, beside, err) == -1)
		goto remove;
	if (rename(beside, disk->path) == -1) {
		(void)err_errno(err, "cannot rename '%s'", beside);
		goto remove;
	}
	return 0;

remove:
	(void)unlink(beside);
	return -1;
}

static bool
has_direct(const char *path)
{
	AUTO(close_fd)
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK);

	return fd != -1;
}

int
diskmake_all(struct children *children, const json_t *vmi, struct disks *disks,
	     const struct disk_dirs *dirs, struct err *err)
{
	for (size_t i = 0; i < disks->count; i++) {
		struct disk *disk = &disks->items[i];

		if (make_one(children, vmi, disk, dirs, err) == -1)
			return err_prefix(err, "volume '%s'", disk->volume);
		disk->no_direct = !has_direct(disk->path);
	}
	return 0;
}
