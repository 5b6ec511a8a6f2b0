/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "ctl/layout.h"

#define MOUNTS "/sys/fs/cgroup"
#define OPEN_DIRS 16
/* A process leaves its cgroups some time after it has ended for all others. */
#define LEAVING_MS 10000
#define PAUSE_NS 20000000

/* Only directories are anybody's to remove there. */
static int
remove_dir(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_DP)
		(void)rmdir(path);
	return 0;
}

static int
remove_at(const char *mount, const char *cgroup, struct err *err)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	AUTO(free_ptr) char *path = xasprintf("%s%s", mount, cgroup);
	uint64_t until = loop_now_ms() + LEAVING_MS;
	struct stat st;

	while (lstat(path, &st) == 0) {
		if (loop_now_ms() >= until)
			return err_set(err, ERR_CONFLICT, "cannot remove '%s'",
				       path);
		(void)nftw(path, remove_dir, OPEN_DIRS, FTW_DEPTH | FTW_PHYS);
		if (lstat(path, &st) == 0)
			(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int
cgroups_remove(const struct layout *layout, struct err *err)
{
	DIR *dir = opendir(MOUNTS);
	struct dirent *entry;
	char cgroup[LAYOUT_TEXT_SIZE];
	int result = 0;

	if (dir == NULL)
		return 0;
	for (unsigned node = 1; node <= layout->nodes; node++) {
		const char *name = layout_cgroup(layout, node, cgroup);

		if (remove_at(MOUNTS, name, err) == -1)
			result = -1;
		rewinddir(dir);
		while ((entry = readdir(dir)) != NULL) {
			AUTO(free_ptr)
			char *mount = xasprintf(MOUNTS "/%s", entry->d_name);

			if (entry->d_type == DT_DIR &&
			    entry->d_name[0] != '.' &&
			    remove_at(mount, name, err) == -1)
				result = -1;
		}
	}
	(void)closedir(dir);
	return result;
}
