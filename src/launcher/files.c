/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"

#define DIR_MODE 0755
#define FILE_MODE 0644
#define COPY_MAX (16UL * 1024 * 1024)

int
files_make_dir_of(const char *path, struct err *err)
{
	AUTO(free_ptr) char *copy = xstrdup(path);

	for (char *at = strchr(copy + 1, '/'); at != NULL;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(copy, DIR_MODE) == -1 && errno != EEXIST)
			return err_errno(err, "cannot make '%s'", copy);
		*at = '/';
	}
	return 0;
}

int
files_make_dir(const char *path, struct err *err)
{
	AUTO(free_ptr) char *below = xasprintf("%s/", path);

	return files_make_dir_of(below, err);
}

static int
copy_file(int from_fd, int to_fd, const char *name, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	AUTO(free_ptr) char *data = NULL;
	size_t len;

	if (path_open_at(from_fd, name, O_RDONLY, 0, &fd, err) == -1 ||
	    path_read_fd(fd, name, COPY_MAX, &data, &len, err) == -1)
		return -1;
	return path_write_file_at(to_fd, name, data, len, FILE_MODE, err);
}

int
files_copy_dir(const char *from, const char *to, struct err *err)
{
	AUTO(close_fd) int from_fd = -1;
	AUTO(close_fd) int to_fd = -1;
	const struct dirent *entry;
	DIR *entries;
	int rc = 0;

	if (files_make_dir(to, err) == -1)
		return -1;
	from_fd = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);
	to_fd = open(to, O_PATH | O_DIRECTORY | O_CLOEXEC);
	entries = opendir(from);
	if (from_fd == -1 || to_fd == -1 || entries == NULL) {
		(void)err_errno(err, "cannot copy '%s' to '%s'", from, to);
		if (entries != NULL)
			(void)closedir(entries);
		return -1;
	}
	while (rc == 0 && (entry = readdir(entries)) != NULL) {
		if (entry->d_name[0] != '.')
			rc = copy_file(from_fd, to_fd, entry->d_name, err);
	}
	(void)closedir(entries);
	return rc;
}
