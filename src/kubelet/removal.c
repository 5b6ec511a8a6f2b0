/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define MOUNTS_MAX (16UL * 1024 * 1024)
/* Deeper trees are taken apart from their top until they are not. */
#define DEPTH_MAX 512

/* Undoes the escapes of /proc/self/mountinfo, in place. */
static void
unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at != '\0'; at++) {
		if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' &&
		    at[2] != '\0' && at[3] != '\0') {
			*to++ = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 +
				       (at[3] - '0'));
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
}

/* The mount point of a line of mountinfo, the fifth word; cuts the line. */
static char *
mount_point(char *line)
{
	for (int i = 0; i < 4 && line != NULL; i++) {
		line = strchr(line, ' ');
		if (line != NULL)
			line++;
	}
	if (line == NULL)
		return NULL;
	line[strcspn(line, " ")] = '\0';
	unescape(line);
	return line;
}

/* Unmounts the last mount at or below path; 1: there is none. */
static int
unmount_last(const char *path, struct err *err)
{
	AUTO(free_ptr) char *text = NULL;
	char *save = NULL, *last = NULL;
	size_t n = strlen(path), len;

	if (path_read_file("/proc/self/mountinfo", MOUNTS_MAX, &text, &len,
			   err) == -1)
		return -1;
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *point = mount_point(line);

		if (point != NULL && strncmp(point, path, n) == 0 &&
		    (point[n] == '\0' || point[n] == '/'))
			last = point;
	}
	if (last == NULL)
		return 1;
	if (umount2(last, MNT_DETACH | UMOUNT_NOFOLLOW) == -1)
		return err_errno(err, "cannot unmount '%s'", last);
	return 0;
}

static int
remove_entry(int dir_fd, const char *name, dev_t device, unsigned depth,
	     struct err *err)
{
	struct stat st;
	DIR *dir;
	const struct dirent *entry;
	int fd, r = 0;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return errno == ENOENT
			       ? 0
			       : err_errno(err, "cannot look at '%s'", name);
	if (!S_ISDIR(st.st_mode))
		return unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT
			       ? 0
			       : err_errno(err, "cannot remove '%s'", name);
	if (st.st_dev != device || depth > DEPTH_MAX)
		return err_set(err, ERR_DENIED,
			       "'%s' is of another file system, or too deep",
			       name);
	fd = openat(dir_fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd == -1 ? NULL : fdopendir(fd);
	if (dir == NULL) {
		close_fd(&fd);
		return err_errno(err, "cannot open '%s'", name);
	}
	while (r == 0 && (entry = readdir(dir)) != NULL) {
		if (!str_equal(entry->d_name, ".") &&
		    !str_equal(entry->d_name, ".."))
			r = remove_entry(fd, entry->d_name, device, depth + 1,
					 err);
	}
	(void)closedir(dir);
	if (r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) == -1 &&
	    errno != ENOENT)
		r = err_errno(err, "cannot remove '%s'", name);
	return r;
}

int
removal_run(const char *path, struct err *err)
{
	AUTO(free_ptr) char *parent = NULL;
	AUTO(close_fd) int dir_fd = -1;
	const char *name;
	struct stat st;
	int r;

	if (path_split(path, &parent, &name, err) == -1)
		return -1;
	if (lstat(path, &st) == -1 && errno == ENOENT)
		return 0;
	do {
		r = unmount_last(path, err);
	} while (r == 0);
	if (r == -1 || path_open_dir(parent, &dir_fd, err) == -1)
		return -1;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return 0;
	return remove_entry(dir_fd, name, st.st_dev, 0, err);
}
