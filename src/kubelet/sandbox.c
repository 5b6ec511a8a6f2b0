/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "kubelet/dirs.h"
#include "kubelet/runspace.h"

#define PATH_SIZE 4096

static const struct {
	const char *name; /* as in OCI */
	const char *proc; /* as in /proc/self/ns */
} kinds[] = {
	{ "network", "net" },
	{ "ipc", "ipc" },
	{ "uts", "uts" },
};

static int
loopback_up(struct err *err)
{
	AUTO(close_fd) int fd = -1;
	struct ifreq request = { .ifr_name = "lo" };

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || ioctl(fd, SIOCGIFFLAGS, &request) == -1)
		return err_errno(err, "cannot look at the interface lo");
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) == -1)
		return err_errno(err, "cannot bring up the interface lo");
	return 0;
}

static int
keep(const char *dir, size_t kind, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	char path[PATH_SIZE], source[64];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, kinds[kind].name);
	(void)snprintf(source, sizeof(source), "/proc/self/ns/%s",
		       kinds[kind].proc);
	fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0400);
	if (fd == -1)
		return err_errno(err, "cannot make '%s'", path);
	return runspace_mount(source, path, NULL, MS_BIND, NULL, err);
}

int
sandbox_make(const char *dir, const char *hostname, struct err *err)
{
	if (dirs_make(dir, 0700, err) == -1)
		return -1;
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == -1)
		return err_errno(err, "cannot make namespaces");
	if (sethostname(hostname, strlen(hostname)) == -1)
		return err_errno(err, "cannot set the host name '%s'",
				 hostname);
	if (loopback_up(err) == -1)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (keep(dir, i, err) == -1)
			return -1;
	}
	return 0;
}

bool
sandbox_is_there(const char *dir)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		char path[PATH_SIZE];
		struct statfs fs;

		(void)snprintf(path, sizeof(path), "%s/%s", dir, kinds[i].name);
		if (statfs(path, &fs) == -1 || fs.f_type != NSFS_MAGIC)
			return false;
	}
	return true;
}

bool
sandbox_is_left(const char *dir)
{
	return access(dir, F_OK) == 0;
}
