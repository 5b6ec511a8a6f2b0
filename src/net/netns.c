/* SPDX-License-Identifier: Apache-2.0 */
#include "net/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

#define OWN_NETNS "/proc/thread-self/ns/net"
#define PATH_SIZE (sizeof(NETNS_DIR) + 1 + NETNS_NAME_MAX)

struct visit {
	int netns_fd;
	int (*fn)(void *arg, struct err *err);
	void *arg;
	struct err *err;
	int result;
};

static void *
visit_main(void *arg)
{
	struct visit *visit = arg;

	if (setns(visit->netns_fd, CLONE_NEWNET) == -1) {
		visit->result = err_errno(visit->err,
					  "cannot enter a network namespace");
		return NULL;
	}
	visit->result = visit->fn(visit->arg, visit->err);
	return NULL;
}

/* Starts the thread with all signals blocked: they are for the others. */
static int
start_visitor(struct visit *visit, pthread_t *ret_thread)
{
	sigset_t all, old;
	int number;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	number = pthread_create(ret_thread, NULL, visit_main, visit);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return number;
}

int
netns_run(int netns_fd, int (*fn)(void *arg, struct err *err), void *arg,
	  struct err *err)
{
	struct visit visit = { netns_fd, fn, arg, err, -1 };
	pthread_t thread;

	if (netns_fd == -1)
		return fn(arg, err);
	errno = start_visitor(&visit, &thread);
	if (errno != 0)
		return err_errno(err, "cannot start a thread");
	(void)pthread_join(thread, NULL);
	return visit.result;
}

int
netns_open_own(int *ret_fd, struct err *err)
{
	int fd = open(OWN_NETNS, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return err_errno(err, "cannot open '%s'", OWN_NETNS);
	*ret_fd = fd;
	return 0;
}

static int
unshare_and_open(void *arg, struct err *err)
{
	if (unshare(CLONE_NEWNET) == -1)
		return err_errno(err, "cannot make a network namespace");
	return netns_open_own(arg, err);
}

int
netns_new(int *ret_fd, struct err *err)
{
	AUTO(close_fd) int own = -1;

	/* A visit to the own namespace has a thread that may leave it. */
	if (netns_open_own(&own, err) == -1)
		return -1;
	return netns_run(own, unshare_and_open, ret_fd, err);
}

static int
name_to_path(const char *name, char path[PATH_SIZE], struct err *err)
{
	if (!str_is_name(name, NETNS_NAME_MAX))
		return err_set(err, ERR_INVALID,
			       "'%s' cannot name a network namespace", name);
	(void)snprintf(path, PATH_SIZE, "%s/%s", NETNS_DIR, name);
	return 0;
}

/* NETNS_DIR is a mount that hands on what is mounted in it, so that other mount
 * namespaces see names come and go. */
static int
make_dir(struct err *err)
{
	if (mkdir(NETNS_DIR, 0755) == -1 && errno != EEXIST)
		return err_errno(err, "cannot make '%s'", NETNS_DIR);
	if (mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL) == 0)
		return 0;
	/* EINVAL: it is no mount yet. */
	if (errno != EINVAL ||
	    mount(NETNS_DIR, NETNS_DIR, "none", MS_BIND | MS_REC, NULL) == -1 ||
	    mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL) == -1)
		return err_errno(err, "cannot share '%s'", NETNS_DIR);
	return 0;
}

static bool
is_namespace(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == NSFS_MAGIC;
}

int
netns_open(const char *name, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	char path[PATH_SIZE];

	if (name_to_path(name, path, err) == -1)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd == -1)
		return err_errno(err, "cannot open '%s'", path);
	if (!is_namespace(fd))
		return err_set(err, ERR_NOT_FOUND, "'%s' is no namespace",
			       path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int
mount_name(int fd, const char *path, struct err *err)
{
	char source[64];
	int file = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);

	if (file == -1)
		return err_errno(err, "cannot make '%s'", path);
	(void)close(file);
	(void)snprintf(source, sizeof(source), "/proc/thread-self/fd/%d", fd);
	if (mount(source, path, "none", MS_BIND, NULL) == 0)
		return 0;
	(void)err_errno(err, "cannot mount '%s'", path);
	(void)unlink(path);
	return -1;
}

int
netns_create(const char *name, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	AUTO(close_fd) int old = -1;
	char path[PATH_SIZE];
	struct err ignored;

	if (name_to_path(name, path, err) == -1 || make_dir(err) == -1)
		return -1;
	if (netns_open(name, &old, &ignored) == 0)
		return err_set(err, ERR_EXISTS, "'%s' exists already", path);
	/* A plain file is what a killed process left before it mounted. */
	if (unlink(path) == -1 && errno != ENOENT)
		return err_errno(err, "cannot replace '%s'", path);
	if (netns_new(&fd, err) == -1 || mount_name(fd, path, err) == -1)
		return -1;
	if (ret_fd != NULL)
		*ret_fd = TAKE_FD(fd);
	return 0;
}

int
netns_delete(const char *name, struct err *err)
{
	char path[PATH_SIZE];

	if (name_to_path(name, path, err) == -1)
		return -1;
	/* EINVAL: nothing is mounted there. */
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == -1 &&
	    errno != ENOENT && errno != EINVAL)
		return err_errno(err, "cannot unmount '%s'", path);
	if (unlink(path) == -1 && errno != ENOENT)
		return err_errno(err, "cannot remove '%s'", path);
	return 0;
}

bool
netns_same(int a_fd, int b_fd)
{
	struct stat a, b;

	return fstat(a_fd, &a) == 0 && fstat(b_fd, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
