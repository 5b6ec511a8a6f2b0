/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "kubelet/dirs.h"
#include "kubelet/hide.h"
#include "kubelet/runspace.h"

static int
mount_overlay(const char *dir, const json_t *config, struct err *err)
{
	int64_t memory = js_int_at(config, "upperMemory", 0);
	AUTO(free_ptr) char *layer = xasprintf("%s/layer", dir);
	AUTO(free_ptr) char *upper = xasprintf("%s/layer/upper", dir);
	AUTO(free_ptr) char *work = xasprintf("%s/layer/work", dir);
	AUTO(free_ptr) char *target = xasprintf("%s/rootfs", dir);
	AUTO(free_ptr) char *size = xasprintf("mode=755,size=%" PRId64, memory);
	AUTO(free_ptr)
	char *data = xasprintf("lowerdir=%s,upperdir=%s,workdir=%s",
			       js_str_at(config, "lower"), upper, work);

	if (dirs_make(layer, 0700, err) == -1 ||
	    dirs_make(target, 0700, err) == -1)
		return -1;
	/* An overlay's upper part must not lie inside its lower one. */
	if (memory > 0 && runspace_mount("layer", layer, "tmpfs",
					 MS_NOSUID | MS_NODEV, size, err) == -1)
		return -1;
	if (dirs_make(upper, 0755, err) == -1 ||
	    dirs_make(work, 0755, err) == -1 ||
	    hide_cover(upper, js_arr_at(config, "hidden"), err) == -1)
		return -1;
	return runspace_mount("rootfs", target, "overlay", 0, data, err);
}

/* Opens what a subPath names; a directory that is missing is made. */
static int
open_part(const char *base, const char *sub, int *ret_fd, struct err *err)
{
	AUTO(free_ptr) char *copy = xstrdup(sub);
	AUTO(close_fd) int at = -1;
	char *save = NULL;

	at = open(base, O_PATH | O_CLOEXEC);
	if (at == -1)
		return err_errno(err, "cannot open '%s'", base);
	for (char *part = strtok_r(copy, "/", &save); part != NULL;
	     part = strtok_r(NULL, "/", &save)) {
		int next;

		if (str_equal(part, "..") || str_equal(part, "."))
			return err_set(err, ERR_INVALID,
				       "subPath '%s' must not contain '%s'",
				       sub, part);
		if (mkdirat(at, part, 0755) == -1 && errno != EEXIST &&
		    errno != ENOTDIR)
			return err_errno(err, "cannot make '%s' for subPath",
					 sub);
		if (path_open_at(at, part, O_PATH, 0, &next, err) == -1)
			return err_prefix(err, "subPath '%s'", sub);
		close_fd(&at);
		at = next;
	}
	*ret_fd = TAKE_FD(at);
	return 0;
}

/* Something to mount on, of the same kind. */
static int
make_target(int part, const char *target, struct err *err)
{
	AUTO(close_fd) int file = -1;
	struct stat st;

	if (fstat(part, &st) == -1)
		return err_errno(err, "cannot look at '%s'", target);
	if (S_ISDIR(st.st_mode))
		return dirs_make(target, 0700, err);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_DENIED,
			       "subPath is neither a directory nor a file");
	file = open(target, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file == -1)
		return err_errno(err, "cannot make '%s'", target);
	return 0;
}

static int
bind_part(const char *dir, const json_t *part, struct err *err)
{
	AUTO(free_ptr)
	char *target = xasprintf("%s/%s", dir, js_str_at(part, "at"));
	AUTO(close_fd) int fd = -1;
	char source[64];

	if (open_part(js_str_at(part, "base"), js_str_at(part, "sub"), &fd,
		      err) == -1 ||
	    make_target(fd, target, err) == -1)
		return -1;
	(void)snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	return runspace_mount(source, target, NULL, MS_BIND, NULL, err);
}

int
rootfs_mount(const char *dir, const json_t *config, struct err *err)
{
	const json_t *part;
	size_t i;

	if (mount_overlay(dir, config, err) == -1)
		return -1;
	json_array_foreach(js_arr_at(config, "parts"), i, part)
	{
		if (bind_part(dir, part, err) == -1)
			return -1;
	}
	return 0;
}
