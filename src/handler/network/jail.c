/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define EXIT_JAIL 126 /* it was not built */
#define SAID_MAX 4096UL
#define CAPABILITIES 64

/* Covered by the new root while it is built; any directory does that is on
 * every node and has nothing that is needed. */
#define NEW_ROOT "/run"

/*
 * From here to the exec is the child of a process that may have threads: only
 * calls into the kernel, no memory.
 */

/* Says which step failed, and that is that. */
static _Noreturn void
give_up(const char *step)
{
	const char *reason = strerrordesc_np(errno);

	(void)!write(STDERR_FILENO, step, strlen(step));
	(void)!write(STDERR_FILENO, ": ", 2);
	(void)!write(STDERR_FILENO, reason, strlen(reason));
	_exit(EXIT_JAIL);
}

static void
must(bool ok, const char *step)
{
	if (!ok)
		give_up(step);
}

static void
put_file(const char *path, const char *contents)
{
	size_t len = strlen(contents);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	must(fd != -1 && write(fd, contents, len) == (ssize_t)len, path);
	(void)close(fd);
}

static void
bind_read_only(const char *from, const char *to)
{
	must(mount(from, to, NULL, MS_BIND, NULL) == 0, from);
	must(mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID,
		   NULL) == 0,
	     to);
}

static void
bind_device(const char *from, const char *to)
{
	put_file(to, "");
	must(mount(from, to, NULL, MS_BIND, NULL) == 0, from);
}

/* /lib and the like: links into /usr, or directories of their own. */
static void
copy_top(const char *from, const char *to)
{
	char target[256];
	ssize_t len = readlink(from, target, sizeof(target) - 1);

	if (len >= 0) {
		target[len] = '\0';
		must(symlink(target, to) == 0, to);
	} else if (errno == EINVAL) {
		must(mkdir(to, 0755) == 0, to);
		bind_read_only(from, to);
	}
}

static void
build_root(const struct jail *jail)
{
	must(unshare(CLONE_NEWNS) == 0, "unshare");
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0,
	     "private mounts");
	must(mount("tmpfs", NEW_ROOT, "tmpfs", MS_NOSUID, "mode=755,size=1m") ==
		     0,
	     NEW_ROOT);
	must(mkdir(NEW_ROOT "/usr", 0755) == 0 &&
		     mkdir(NEW_ROOT "/etc", 0755) == 0 &&
		     mkdir(NEW_ROOT "/dev", 0755) == 0,
	     "directories");
	bind_read_only("/usr", NEW_ROOT "/usr");
	copy_top("/lib", NEW_ROOT "/lib");
	copy_top("/lib64", NEW_ROOT "/lib64");
	bind_device("/dev/null", NEW_ROOT "/dev/null");
	bind_device("/dev/urandom", NEW_ROOT "/dev/urandom");
	put_file(NEW_ROOT "/etc/passwd",
		 "root:x:0:0::/:\nnobody:x:65534:65534::/:\n");
	put_file(NEW_ROOT "/etc/group", "root:x:0:\nnogroup:x:65534:\n");
	must(chdir(NEW_ROOT) == 0, "chdir");
	must(syscall(SYS_pivot_root, ".", ".") == 0, "pivot_root");
	must(umount2(".", MNT_DETACH) == 0, "umount");
	must(chdir("/") == 0, "chdir");
	put_file(jail->file, jail->contents);
	must(mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID,
		   "mode=755,size=1m") == 0,
	     "remount");
}

/* Not even root's exec brings back what left the bounding set. */
static void
drop_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32),
		  .permitted = (uint32_t)(keep >> 32) },
	};

	for (unsigned long c = 0; c < CAPABILITIES; c++) {
		if (keep >> c & 1)
			continue;
		/* EINVAL: beyond the last that there is. */
		must(prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0 || errno == EINVAL,
		     "capabilities");
	}
	must(syscall(SYS_capset, &header, data) == 0, "capset");
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
}

/* So that it ends with the pod and is counted with it, not with the handler. */
static void
join_cgroup(int cgroup_fd)
{
	int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return;
	(void)!write(fd, "0", 1);
	(void)close(fd);
}

static _Noreturn void
child_main(const struct jail *jail, int output_fd)
{
	static char *const no_environment[] = { NULL };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	must(dup2(output_fd, STDOUT_FILENO) != -1 &&
		     dup2(output_fd, STDERR_FILENO) != -1,
	     "output");
	must(setsid() != -1, "setsid");
	join_cgroup(jail->pod->cgroup_fd);
	must(setns(jail->pod->netns_fd, CLONE_NEWNET) == 0,
	     "enter the network namespace");
	must(setns(jail->pod->pidns_fd, CLONE_NEWPID) == 0,
	     "enter the PID namespace");
	(void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
	build_root(jail);
	(void)close(STDIN_FILENO);
	must(open("/dev/null", O_RDONLY) == STDIN_FILENO, "/dev/null");
	drop_capabilities(jail->capabilities);
	(void)execve(jail->argv[0], (char *const *)(uintptr_t)jail->argv,
		     no_environment);
	give_up(jail->argv[0]);
}

/* ---- the parent ---- */

/*
 * As fork(2), but for a child that nobody else reaps: without a signal at its
 * end it is invisible to waits that do not name it.
 */
static pid_t
fork_quietly(int *ret_pidfd)
{
	int pidfd = -1;
#if defined(__s390x__)
#error "clone(2) has other arguments here"
#endif
	long pid = syscall(SYS_clone, (unsigned long)CLONE_PIDFD, NULL, &pidfd,
			   NULL, 0UL);

	if (pid > 0)
		*ret_pidfd = pidfd;
	return (pid_t)pid;
}

/* What it said last, without the line's end. */
static void
last_line(int fd, char line[200])
{
	AUTO(free_ptr) char *text = NULL;
	const char *start;
	struct err ignored;
	size_t len;

	(void)snprintf(line, 200, "it said nothing");
	if (path_read_fd(fd, "output", SAID_MAX, &text, &len, &ignored) == -1)
		return;
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	if (len == 0)
		return;
	start = strrchr(text, '\n');
	(void)snprintf(line, 200, "%s", start ? start + 1 : text);
}

static int
wait_for(int pidfd, int output_fd, const struct jail *jail, struct err *err)
{
	struct pollfd wait = { .fd = pidfd, .events = POLLIN };
	siginfo_t info = { .si_status = -1 };
	char line[200];
	int ready;

	do
		ready = poll(&wait, 1, (int)jail->timeout_ms);
	while (ready == -1 && errno == EINTR);
	if (ready != 1)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) == -1 &&
	       errno == EINTR)
		continue;
	if (ready != 1)
		return err_set(err, ERR_TIMEOUT,
			       "'%s' was not ready after %u ms", jail->argv[0],
			       jail->timeout_ms);
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		return 0;
	last_line(output_fd, line);
	return err_set(err, ERR_INTERNAL, "'%s' failed: %s", jail->argv[0],
		       line);
}

int
jail_run(const struct jail *jail, struct err *err)
{
	AUTO(close_fd) int output = memfd_create("output", MFD_CLOEXEC);
	AUTO(close_fd) int pidfd = -1;
	pid_t pid;

	if (!str_has_prefix(jail->argv[0], "/usr/"))
		return err_set(err, ERR_INVALID, "'%s' is not below /usr",
			       jail->argv[0]);
	if (output == -1)
		return err_errno(err, "cannot make a file for output");
	pid = fork_quietly(&pidfd);
	if (pid == 0)
		child_main(jail, output);
	if (pid == -1)
		return err_errno(err, "cannot start '%s'", jail->argv[0]);
	return wait_for(pidfd, output, jail, err);
}
