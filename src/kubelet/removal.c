/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
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

#define MOUNTS_MAX (16UL * 1024 * 1024)

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

/* One entry on the way up; what is mounted cannot be removed, and is not. */
static int
remove_entry(const FTSENT *entry, struct err *err)
{
	bool dir = entry->fts_info == FTS_DP;

	if (entry->fts_info == FTS_D)
		return 0;
	if (entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR) {
		errno = entry->fts_errno;
		return err_errno(err, "cannot look at '%s'", entry->fts_path);
	}
	if (unlinkat(AT_FDCWD, entry->fts_accpath, dir ? AT_REMOVEDIR : 0) ==
		    -1 &&
	    errno != ENOENT)
		return err_errno(err, "cannot remove '%s'", entry->fts_path);
	return 0;
}

int
removal_run(const char *path, struct err *err)
{
	AUTO(free_ptr) char *copy = xstrdup(path);
	AUTO(free_ptr) char *parent = NULL;
	char *const paths[] = { copy, NULL };
	const FTSENT *entry;
	const char *name;
	struct stat st;
	FTS *tree;
	int r;

	if (path_split(path, &parent, &name, err) == -1)
		return -1;
	if (lstat(path, &st) == -1 && errno == ENOENT)
		return 0;
	do {
		r = unmount_last(path, err);
	} while (r == 0);
	if (r == -1)
		return -1;
	/* It goes into directories instead of naming long paths, and looks
	 * whether it has come to where it wanted. */
	tree = fts_open(paths, FTS_PHYSICAL | FTS_XDEV, NULL);
	if (tree == NULL)
		return err_errno(err, "cannot read '%s'", path);
	for (r = 0; r == 0 && (entry = fts_read(tree)) != NULL;)
		r = remove_entry(entry, err);
	(void)fts_close(tree);
	return r;
}
