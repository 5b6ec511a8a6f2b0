/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/dirs.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

int
dirs_make(const char *path, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) == -1 && errno != EEXIST)
		return err_errno(err, "cannot make '%s'", path);
	return 0;
}

int
dirs_make_all(const char *path, mode_t mode, struct err *err)
{
	AUTO(free_ptr) char *copy = xstrdup(path);

	for (char *at = copy + 1; *copy != '\0' && *at != '\0'; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (dirs_make(copy, 0755, err) == -1)
			return -1;
		*at = '/';
	}
	return dirs_make(path, mode, err);
}
