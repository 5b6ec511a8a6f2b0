/* SPDX-License-Identifier: Apache-2.0 */
#include "net/sysctl.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "net/netns.h"

#define SETTINGS "/proc/sys/net"

struct access {
	const char *name;
	const char *value; /* NULL: read */
	char *buf;
	size_t size;
};

static int
access_setting(void *arg, struct err *err)
{
	const struct access *a = arg;
	AUTO(close_fd) int dir = -1;
	AUTO(close_fd) int fd = -1;
	ssize_t n;

	if (path_open_dir(SETTINGS, &dir, err) == -1 ||
	    path_open_at(dir, a->name, a->value ? O_WRONLY : O_RDONLY, 0, &fd,
			 err) == -1)
		return err_prefix(err, SETTINGS);
	if (a->value != NULL) {
		if (write(fd, a->value, strlen(a->value)) == -1)
			return err_errno(err, "cannot set '%s' to '%s'",
					 a->name, a->value);
		return 0;
	}
	n = read(fd, a->buf, a->size - 1);
	if (n == -1)
		return err_errno(err, "cannot read '%s'", a->name);
	a->buf[n] = '\0';
	a->buf[strcspn(a->buf, "\n")] = '\0';
	return 0;
}

int
sysctl_set(int netns_fd, const char *name, const char *value, struct err *err)
{
	struct access a = { .name = name, .value = value };

	return netns_run(netns_fd, access_setting, &a, err);
}

int
sysctl_get(int netns_fd, const char *name, char *buf, size_t size,
	   struct err *err)
{
	struct access a = { .name = name, .size = size };

	a.buf = buf;
	return netns_run(netns_fd, access_setting, &a, err);
}
