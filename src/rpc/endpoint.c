/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How a socket gets its name.
 *
 * bind(2) makes the file first and leaves its owner and its listening for
 * later; meanwhile whoever can write to the directory could put something else
 * in its place and have that given away. So the socket is made in a directory
 * of our own below the pod's, which nobody else can enter, and moved to its
 * name when it is complete.
 */
#include "rpc/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define BACKLOG 128 /* libvirt opens one connection per parallel channel */
#define INNER "s"   /* the socket's name in the private directory */
#define PRIVATE_SIZE sizeof(".ferry-0123456789abcdef")

struct private_dir {
	char name[PRIVATE_SIZE];
	int fd;
};

static int
check_name(const char *name, struct err *err)
{
	if (!str_is_name(name, ENDPOINT_NAME_MAX))
		return err_set(err, ERR_INVALID,
			       "'%.120s' is not a socket's name", name);
	return 0;
}

/* The address of a file by its descriptor, or of INNER below it. */
static struct sockaddr_un
address_of(int fd, bool inner)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path),
		       inner ? "/proc/self/fd/%d/" INNER : "/proc/self/fd/%d",
		       fd);
	return addr;
}

/* Opens name if it is a socket: ERR_INVALID, ERR_DENIED for a link. */
static int
open_socket_file(int dir_fd, const char *name, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	struct stat st;

	if (path_open_at(dir_fd, name, O_PATH, 0, &fd, err) == -1)
		return -1;
	if (fstat(fd, &st) == -1)
		return err_errno(err, "cannot examine '%s'", name);
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is not a socket", name);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/*
 * Whether a process holds the socket of this file. A socket of another type
 * can ask that without being noticed: it is told that the types differ.
 */
static bool
is_served(int file_fd)
{
	struct sockaddr_un addr = address_of(file_fd, false);
	AUTO(close_fd) int fd = -1;

	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd == -1 ||
	       connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 ||
	       errno != ECONNREFUSED;
}

/* Whether there is a left-over to replace; ERR_EXISTS for all else. */
static int
find_stale(int dir_fd, const char *name, bool *ret_stale, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	struct stat st;

	*ret_stale = false;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		if (errno == ENOENT)
			return 0;
		return err_errno(err, "cannot examine '%s'", name);
	}
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, ERR_EXISTS,
			       "'%s' is there already and is not a socket",
			       name);
	if (open_socket_file(dir_fd, name, &fd, err) == -1)
		return -1;
	if (is_served(fd))
		return err_set(err, ERR_EXISTS,
			       "'%s' is in use by another listener", name);
	*ret_stale = true;
	return 0;
}

static void
private_dir_remove(int parent_fd, struct private_dir *dir)
{
	if (dir->fd >= 0)
		(void)unlinkat(dir->fd, INNER, 0);
	(void)unlinkat(parent_fd, dir->name, AT_REMOVEDIR);
	close_fd(&dir->fd);
}

static int
private_dir_make(int parent_fd, struct private_dir *ret, struct err *err)
{
	struct private_dir dir = { .fd = -1 };
	struct stat st;
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return err_errno(err, "cannot get random bytes");
	(void)snprintf(dir.name, sizeof(dir.name), ".ferry-%016" PRIx64,
		       number);
	if (mkdirat(parent_fd, dir.name, 0700) == -1)
		return err_errno(err, "cannot make a socket in its directory");
	if (path_open_at(parent_fd, dir.name, O_PATH | O_DIRECTORY, 0, &dir.fd,
			 err) == -1)
		goto remove;
	if (fstat(dir.fd, &st) == -1) {
		(void)err_errno(err, "cannot examine '%s'", dir.name);
		goto remove;
	}
	/* Not ours if somebody was quick enough to put another in place. */
	if (st.st_uid != geteuid() || (st.st_mode & 0077) != 0) {
		(void)err_set(err, ERR_DENIED, "'%s' was replaced", dir.name);
		goto remove;
	}
	*ret = dir;
	return 0;

remove:
	private_dir_remove(parent_fd, &dir);
	return -1;
}

/* A complete socket, still under its inner name. */
static int
make_socket(int dir_fd, const struct endpoint_owner *owner,
	    struct endpoint *ret, struct err *err)
{
	struct sockaddr_un addr = address_of(dir_fd, true);
	AUTO(close_fd) int file_fd = -1;
	AUTO(close_fd) int fd = -1;
	struct stat st;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return err_errno(err, "cannot create a socket");
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1)
		return err_errno(err, "cannot bind");
	/*
	 * By descriptor from here on, and only if it can be no other's: a
	 * process of our own user, which a pod's root may be, can enter the
	 * directory after all and put another socket, or a link to one, there.
	 */
	if (open_socket_file(dir_fd, INNER, &file_fd, err) == -1)
		return -1;
	if (fstat(file_fd, &st) == -1)
		return err_errno(err, "cannot examine it");
	if (st.st_uid != geteuid() || st.st_nlink != 1)
		return err_set(err, ERR_DENIED, "it was replaced");
	/* The umask may have taken bits away as well as left some. */
	if (fchmodat(AT_FDCWD, address_of(file_fd, false).sun_path, 0600, 0) ==
	    -1)
		return err_errno(err, "cannot set its mode");
	if (owner != NULL &&
	    fchownat(file_fd, "", owner->uid, owner->gid, AT_EMPTY_PATH) == -1)
		return err_errno(err, "cannot give it to %u:%u", owner->uid,
				 owner->gid);
	if (listen(fd, BACKLOG) == -1)
		return err_errno(err, "cannot listen");
	*ret = (struct endpoint){ .fd = TAKE_FD(fd),
				  .dev = st.st_dev,
				  .ino = st.st_ino };
	return 0;
}

int
endpoint_listen(int dir_fd, const char *name,
		const struct endpoint_owner *owner, struct endpoint *ret,
		struct err *err)
{
	struct endpoint ep = ENDPOINT_NONE;
	struct private_dir dir;
	bool stale;
	int rc;

	if (check_name(name, err) == -1 ||
	    find_stale(dir_fd, name, &stale, err) == -1)
		return -1;
	if (private_dir_make(dir_fd, &dir, err) == -1)
		return err_prefix(err, "socket '%s'", name);

	rc = make_socket(dir.fd, owner, &ep, err);
	if (rc == -1) {
		(void)err_prefix(err, "socket '%s'", name);
	} else if (renameat2(dir.fd, INNER, dir_fd, name,
			     stale ? 0 : RENAME_NOREPLACE) == -1) {
		rc = err_errno(err, "socket '%s': cannot give it its name",
			       name);
		close_fd(&ep.fd);
	} else {
		*ret = ep;
	}
	private_dir_remove(dir_fd, &dir);
	return rc;
}

int
endpoint_connect(int dir_fd, const char *name, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int file_fd = -1;
	AUTO(close_fd) int fd = -1;
	struct sockaddr_un addr;

	if (check_name(name, err) == -1 ||
	    open_socket_file(dir_fd, name, &file_fd, err) == -1)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return err_errno(err, "cannot create a socket");

	/* The very file that was checked, whatever the name means by now. */
	addr = address_of(file_fd, false);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1) {
		if (errno == EAGAIN)
			return err_set(err, ERR_LIMIT,
				       "socket '%s': its queue is full", name);
		if (errno == EPROTOTYPE)
			return err_set(err, ERR_INVALID,
				       "socket '%s' is not a stream socket",
				       name);
		return err_errno(err, "cannot connect to socket '%s'", name);
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int
endpoint_unlink(int dir_fd, const char *name, const struct endpoint *ep,
		struct err *err)
{
	struct stat st;

	if (check_name(name, err) == -1)
		return -1;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		if (errno == ENOENT)
			return 0;
		return err_errno(err, "cannot examine '%s'", name);
	}
	if (!S_ISSOCK(st.st_mode) || st.st_dev != ep->dev ||
	    st.st_ino != ep->ino)
		return 0;
	if (unlinkat(dir_fd, name, 0) == -1 && errno != ENOENT)
		return err_errno(err, "cannot remove '%s'", name);
	return 0;
}

/* The directory of a path that the operator gave. */
static int
open_parent(const char *path, int *ret_fd, const char **ret_name,
	    struct err *err)
{
	AUTO(free_ptr) char *dir = NULL;
	int fd;

	if (path_split(path, &dir, ret_name, err) == -1)
		return -1;
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return err_errno(err, "cannot open directory '%s'", dir);
	*ret_fd = fd;
	return 0;
}

int
endpoint_listen_path(const char *path, const struct endpoint_owner *owner,
		     struct endpoint *ret, struct err *err)
{
	AUTO(close_fd) int dir_fd = -1;
	const char *name;

	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return err_set(err, ERR_INVALID,
			       "'%.120s...' is too long for a socket", path);
	if (open_parent(path, &dir_fd, &name, err) == -1)
		return -1;
	return endpoint_listen(dir_fd, name, owner, ret, err);
}

int
endpoint_unlink_path(const char *path, const struct endpoint *ep,
		     struct err *err)
{
	AUTO(close_fd) int dir_fd = -1;
	const char *name;

	if (open_parent(path, &dir_fd, &name, err) == -1)
		return -1;
	return endpoint_unlink(dir_fd, name, ep, err);
}
