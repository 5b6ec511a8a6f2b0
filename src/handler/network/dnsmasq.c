/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/dnsmasq.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "handler/network/jail.h"
#include "tls/digest.h"

/* Whose command line has this is ours; the hash of its configuration follows.
 */
#define MARK "--conf-file=/etc/ferry-dhcp-"
#define HASH_DIGITS 16
#define COMMAND_MAX 4096UL

#define BIT(capability) (UINT64_C(1) << (capability))
/* Its user, ports below 1024, and replies to those that have no address yet. */
#define KEPT                                                             \
	(BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_NET_BIND_SERVICE) | \
	 BIT(CAP_NET_ADMIN) | BIT(CAP_NET_RAW))

static bool
is_in(int proc_fd, const char *namespace, int ns_fd)
{
	struct stat process, pod;

	return fstatat(proc_fd, namespace, &process, 0) == 0 &&
	       fstat(ns_fd, &pod) == 0 && process.st_ino == pod.st_ino &&
	       process.st_dev == pod.st_dev;
}

/* Whether it is the pod's server; *ret_same: with this configuration. */
static bool
is_server(int proc_fd, const struct network_pod *pod, const char *mark,
	  bool *ret_same)
{
	AUTO(close_fd) int fd = -1;
	char command[COMMAND_MAX + 1];
	ssize_t len;

	if (!is_in(proc_fd, "ns/pid", pod->pidns_fd) ||
	    !is_in(proc_fd, "ns/net", pod->netns_fd))
		return false;
	fd = openat(proc_fd, "cmdline", O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	len = read(fd, command, COMMAND_MAX);
	if (len <= 0)
		return false;
	command[len] = '\0';
	for (const char *at = command; at < command + len;
	     at += strlen(at) + 1) {
		if (str_has_prefix(at, MARK)) {
			*ret_same = str_equal(at, mark);
			return true;
		}
	}
	return false;
}

/* Ends a process and waits until it is gone. */
static int
end(int pidfd, struct err *err)
{
	struct pollfd wait = { .fd = pidfd, .events = POLLIN };
	int ready;

	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == -1 &&
	    errno != ESRCH)
		return err_errno(err, "cannot end a DHCP server");
	do
		ready = poll(&wait, 1, DNSMASQ_STOP_TIMEOUT_MS);
	while (ready == -1 && errno == EINTR);
	return ready == 1 ? 0
			  : err_set(err, ERR_TIMEOUT,
				    "a DHCP server does not end");
}

struct search {
	const struct network_pod *pod;
	const char *mark; /* what is to go on; "": nothing */
	bool found;       /* one that may go on */
	bool ended;       /* another one */
};

static int
look_at(struct search *search, int proc_dir_fd, const char *pid,
	struct err *err)
{
	AUTO(close_fd) int proc = -1;
	AUTO(close_fd) int pidfd = -1;
	bool same = false;

	proc = openat(proc_dir_fd, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc == -1 || !is_server(proc, search->pod, search->mark, &same))
		return 0;
	if (same && !search->found) {
		search->found = true;
		return 0;
	}
	/* The descriptor first, then once more whether it is still that
	 * process: the number may be another's by now. */
	pidfd = (int)syscall(SYS_pidfd_open, (pid_t)strtol(pid, NULL, 10), 0);
	if (pidfd == -1 || !is_server(proc, search->pod, search->mark, &same))
		return 0;
	search->ended = true;
	return end(pidfd, err);
}

static void
close_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

/* Finds the pod's server and ends all but the one that is to go on. */
static int
search_all(struct search *search, struct err *err)
{
	AUTO(close_dir) DIR *dir = opendir("/proc");
	const struct dirent *entry;

	if (dir == NULL)
		return err_errno(err, "cannot open '/proc'");
	while ((entry = readdir(dir)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    look_at(search, dirfd(dir), entry->d_name, err) == -1)
			return -1;
	}
	return 0;
}

static int
start(const struct network_pod *pod, const char *program, const char *config,
      const char *mark, struct err *err)
{
	const char *const argv[] = {
		program,
		mark,
		"--user=nobody",
		"--group=nogroup",
		"--pid-file",
		"--log-facility=/dev/null",
		NULL,
	};
	const struct jail jail = {
		.pod = pod,
		.argv = argv,
		.file = strchr(mark, '=') + 1,
		.contents = config,
		.capabilities = KEPT,
		.timeout_ms = DNSMASQ_START_TIMEOUT_MS,
	};

	return jail_run(&jail, err);
}

int
dnsmasq_ensure(const struct network_pod *pod, const char *program,
	       const char *config, enum dnsmasq_found *ret_found,
	       struct err *err)
{
	char mark[sizeof(MARK) + HASH_DIGITS], hash[DIGEST_SHA256_HEX_SIZE];
	struct search search = { .pod = pod, .mark = mark };

	(void)digest_sha256_hex(config, strlen(config), hash);
	(void)snprintf(mark, sizeof(mark), MARK "%.*s", HASH_DIGITS, hash);
	if (search_all(&search, err) == -1)
		return -1;
	if (!search.found && start(pod, program, config, mark, err) == -1)
		return -1;
	if (search.found)
		*ret_found = DNSMASQ_RUNNING;
	else
		*ret_found = search.ended ? DNSMASQ_REPLACED : DNSMASQ_STARTED;
	return 0;
}

int
dnsmasq_stop(const struct network_pod *pod, struct err *err)
{
	struct search search = { .pod = pod, .mark = "" };

	return search_all(&search, err);
}
