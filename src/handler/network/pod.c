/* SPDX-License-Identifier: Apache-2.0 */
/* network_pod_open(): from a process to its pod. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "handler/network/network.h"
#include "net/netns.h"

#define CGROUP_FILE_MAX (64UL * 1024)
#define CGROUP_V2 "0::/" /* its line in /proc/PID/cgroup */

/* A descriptor of the process' namespace, which must not be the caller's. */
static int
open_namespace(int proc_fd, pid_t pid, const char *name, int *ret_fd,
	       struct err *err)
{
	AUTO(close_fd) int fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	AUTO(close_fd) int own = -1;
	char path[64];

	if (fd == -1)
		return err_errno(err, "cannot open '%s' of process %d", name,
				 pid);
	(void)snprintf(path, sizeof(path), "/proc/self/%s", name);
	own = open(path, O_RDONLY | O_CLOEXEC);
	if (own == -1)
		return err_errno(err, "cannot open '%s'", path);
	if (netns_same(fd, own))
		return err_set(err, ERR_DENIED,
			       "process %d is in no pod: its '%s' is ours", pid,
			       name);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Where the process is in cgroup v2, without the first slash; NULL. */
static char *
find_cgroup(int proc_fd)
{
	AUTO(close_fd) int fd = openat(proc_fd, "cgroup", O_RDONLY | O_CLOEXEC);
	AUTO(free_ptr) char *text = NULL;
	const char *line;
	struct err err;
	size_t len;

	if (fd == -1 || path_read_fd(fd, "cgroup", CGROUP_FILE_MAX, &text, &len,
				     &err) == -1)
		return NULL;
	for (line = text; *line != '\0'; line += strcspn(line, "\n")) {
		line += *line == '\n';
		if (!str_has_prefix(line, CGROUP_V2))
			continue;
		line += strlen(CGROUP_V2);
		return xstrndup(line, strcspn(line, "\n"));
	}
	return NULL;
}

/* Its directory; -1 where cgroup v2 is not mounted or the process is not in
 * the part that this process sees. */
static int
open_cgroup(int proc_fd)
{
	static const char *const roots[] = { "/sys/fs/cgroup",
					     "/sys/fs/cgroup/unified" };
	AUTO(free_ptr) char *path = find_cgroup(proc_fd);

	for (size_t i = 0;
	     path != NULL && *path != '\0' && i < ARRAY_LEN(roots); i++) {
		AUTO(close_fd) int root = -1;
		AUTO(close_fd) int dir = -1;
		struct err err;

		if (path_open_dir(roots[i], &root, &err) == 0 &&
		    path_open_at(root, path, O_PATH | O_DIRECTORY, 0, &dir,
				 &err) == 0 &&
		    faccessat(dir, "cgroup.procs", F_OK, 0) == 0)
			return TAKE_FD(dir);
	}
	return -1;
}

int
network_pod_open(pid_t pid, struct network_pod *ret_pod, struct err *err)
{
	AUTO(close_fd) int netns = -1;
	AUTO(close_fd) int pidns = -1;
	AUTO(close_fd) int proc = -1;
	char path[32];

	/* All below this descriptor is the same process', or an error. */
	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc == -1)
		return err_errno(err, "cannot open '%s'", path);
	if (open_namespace(proc, pid, "ns/net", &netns, err) == -1 ||
	    open_namespace(proc, pid, "ns/pid", &pidns, err) == -1)
		return -1;
	*ret_pod = (struct network_pod){
		.netns_fd = TAKE_FD(netns),
		.pidns_fd = TAKE_FD(pidns),
		.cgroup_fd = open_cgroup(proc),
		.root_fd =
			openat(proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	return 0;
}

void
network_pod_close(struct network_pod *pod)
{
	close_fd(&pod->netns_fd);
	close_fd(&pod->pidns_fd);
	close_fd(&pod->cgroup_fd);
	close_fd(&pod->root_fd);
}
