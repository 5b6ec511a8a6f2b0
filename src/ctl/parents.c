/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/parents.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"

int
parents_make(char *path, struct err *err)
{
	for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		if (mkdir(path, 0755) == -1 && errno != EEXIST)
			return err_errno(err, "cannot make '%s'", path);
		*at = '/';
	}
	return 0;
}
