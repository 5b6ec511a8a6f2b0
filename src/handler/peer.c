/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "handler/network/network.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define CGROUP_FILE_MAX (64UL * 1024)
#define UID_MIN 8 /* shorter ones are in every text */

static bool
contains(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

bool
peer_is_in_pod(const char *cgroups, const char *pod_uid)
{
	AUTO(free_ptr) char *other = xstrdup(pod_uid);

	for (char *at = other; *at != '\0'; at++) {
		if (*at == '-')
			*at = '_';
	}
	return strlen(pod_uid) >= UID_MIN &&
	       (contains(cgroups, pod_uid) || contains(cgroups, other));
}

/* *ret_fd is -1 where the kernel cannot do that. */
static int
open_process(int fd, int *ret_fd, struct err *err)
{
	socklen_t len = sizeof(*ret_fd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, ret_fd, &len) == 0)
		return 0;
	*ret_fd = -1;
	if (errno == ENOPROTOOPT)
		return 0;
	if (errno == ESRCH || errno == EINVAL)
		return err_set(err, ERR_NOT_FOUND,
			       "the process that listened has ended");
	return err_errno(err, "cannot see who listens");
}

/* As long as it is alive its number is its own. */
static int
check_alive(int process_fd, struct err *err)
{
	struct pollfd ended = { .fd = process_fd, .events = POLLIN };

	if (process_fd == -1 || poll(&ended, 1, 0) == 0)
		return 0;
	return err_set(err, ERR_NOT_FOUND,
		       "the process that listened has ended");
}

static int
check_cgroup(pid_t pid, const char *pod_uid, struct err *err)
{
	AUTO(free_ptr) char *text = NULL;
	char path[32];
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (path_read_file(path, CGROUP_FILE_MAX, &text, &len, err) == -1)
		return -1;
	if (peer_is_in_pod(text, pod_uid))
		return 0;
	return err_set(err, ERR_DENIED, "process %d is not in pod %s", pid,
		       pod_uid);
}

int
peer_open(int fd, const char *pod_uid, struct ucred *ret_peer,
	  struct network_pod *ret_pod, struct err *err)
{
	AUTO(network_pod_close) struct network_pod pod = NETWORK_POD_INIT;
	AUTO(close_fd) int process = -1;
	socklen_t len = sizeof(*ret_peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &len) == -1)
		return err_errno(err, "cannot see who listens");
	if (open_process(fd, &process, err) == -1 ||
	    check_alive(process, err) == -1 ||
	    network_pod_open(ret_peer->pid, &pod, err) == -1 ||
	    check_cgroup(ret_peer->pid, pod_uid, err) == -1 ||
	    check_alive(process, err) == -1)
		return -1;
	*ret_pod = pod;
	pod = NETWORK_POD_INIT;
	return 0;
}
