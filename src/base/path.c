/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/* The kernel gives EAGAIN when a rename elsewhere raced with the lookup. */
#define LOOKUP_TRIES 100

/* A regular file whose size is not told, as in /proc, is read in such parts. */
#define READ_PART 4096

#define OPEN_DIRS 16

static int
open_safely(int dir_fd, const char *path, struct open_how how, int *ret_fd,
	    struct err *err)
{
	int fd = -1;

	/* With O_PATH, O_NOFOLLOW would yield the link instead of an error. */
	how.flags = (how.flags | O_CLOEXEC) & ~(unsigned)O_NOFOLLOW;
	how.resolve |= RESOLVE_NO_SYMLINKS;
	for (int i = 0; i < LOOKUP_TRIES; i++) {
		fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		if (fd != -1 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	if (fd == -1 && errno == ELOOP)
		return err_set(err, ERR_DENIED,
			       "cannot open '%s': symbolic link in the way",
			       path);
	if (fd == -1 && errno == EXDEV)
		return err_set(err, ERR_DENIED,
			       "cannot open '%s': leads out of its directory",
			       path);
	if (fd == -1)
		return err_errno(err, "cannot open '%s'", path);
	*ret_fd = fd;
	return 0;
}

int
path_open_dir(const char *path, int *ret_fd, struct err *err)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY };

	return open_safely(AT_FDCWD, path, how, ret_fd, err);
}

int
path_open_at(int dir_fd, const char *name, int flags, mode_t mode, int *ret_fd,
	     struct err *err)
{
	struct open_how how = {
		.flags = (unsigned)flags,
		.resolve = RESOLVE_BENEATH,
	};

	/* Unlike open(2), openat2(2) refuses a mode that has no use. */
	if (flags & (O_CREAT | __O_TMPFILE))
		how.mode = mode;
	return open_safely(dir_fd, name, how, ret_fd, err);
}

int
path_read_file(const char *path, size_t max, char **ret_data, size_t *ret_len,
	       struct err *err)
{
	AUTO(close_fd) int fd = -1;

	/* O_NONBLOCK: a FIFO in its place must not hold the program up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd == -1)
		return err_errno(err, "cannot open '%s'", path);
	return path_read_fd(fd, path, max, ret_data, ret_len, err);
}

/* Reads up to len bytes; fewer only at the end of the file. */
static ssize_t
pread_full(int fd, void *data, size_t len, off_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)data + done, len - done,
				  offset + (off_t)done);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/*
 * One byte more than the size is asked for, so that a file that is as long as
 * it says is read, and its end seen, without the buffer growing: what may be
 * a private key is then in memory once.
 */
static int
read_all(int fd, const char *name, size_t size, struct buf *buf,
	 struct err *err)
{
	for (;;) {
		size_t room = buf->limit - buf->len;
		size_t want = buf->len < size ? size - buf->len + 1 : READ_PART;
		uint8_t *to;
		ssize_t n;

		if (room == 0)
			return err_set(err, ERR_LIMIT,
				       "'%s' is larger than %zu bytes", name,
				       buf->limit - 1);
		if (want > room)
			want = room;
		to = buf_reserve(buf, want);
		n = pread_full(fd, to, want, (off_t)buf->len);
		if (n == -1)
			return err_errno(err, "cannot read '%s'", name);
		buf_commit(buf, (size_t)n);
		if ((size_t)n < want)
			return 0;
	}
}

int
path_read_fd(int fd, const char *name, size_t max, char **ret_data,
	     size_t *ret_len, struct err *err)
{
	/* The limit is one more, to see whether the file goes on. */
	AUTO(buf_done) struct buf buf = BUF_INIT(max + 1);
	struct stat st;

	if (fstat(fd, &st) == -1)
		return err_errno(err, "cannot look at '%s'", name);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is not a regular file",
			       name);
	if (st.st_size < 0 || (uintmax_t)st.st_size > max)
		return err_set(err, ERR_LIMIT, "'%s' is larger than %zu bytes",
			       name, max);
	if (read_all(fd, name, (size_t)st.st_size, &buf, err) == -1)
		return -1;
	*ret_data = (char *)TAKE_PTR(buf.data);
	*ret_len = buf.len;
	return 0;
}

static int
write_full(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Makes the new name survive a crash. dir_fd may be O_PATH, which fsync()
 * refuses. */
static int
sync_dir(int dir_fd)
{
	AUTO(close_fd) int fd = -1;

	fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd == -1 ? -1 : fsync(fd);
}

/* Fills a new file and makes it ready to be renamed. */
static int
fill(int fd, const char *name, const void *data, size_t len, mode_t mode,
     struct err *err)
{
	if (write_full(fd, data, len) == -1)
		return err_errno(err, "cannot write '%s'", name);
	if (fchmod(fd, mode) == -1)
		return err_errno(err, "cannot set the mode of '%s'", name);
	if (fsync(fd) == -1)
		return err_errno(err, "cannot write '%s' to disk", name);
	return 0;
}

int
path_write_file_at(int dir_fd, const char *name, const void *data, size_t len,
		   mode_t mode, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	AUTO(free_ptr) char *temp = NULL;
	uint64_t salt = 0;

	if (strchr(name, '/') != NULL || str_equal(name, ".") ||
	    str_equal(name, "..") || name[0] == '\0')
		return err_set(err, ERR_INVALID, "'%s' is not a file name",
			       name);
	if (getrandom(&salt, sizeof(salt), 0) == -1)
		return err_errno(err, "cannot get random bytes");
	temp = xasprintf(".%s.%016llx", name, (unsigned long long)salt);

	/* Closed to others until it is complete. */
	if (path_open_at(dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd,
			 err) == -1)
		return -1;
	if (fill(fd, name, data, len, mode, err) == -1)
		goto remove;
	if (renameat(dir_fd, temp, dir_fd, name) == -1) {
		(void)err_errno(err, "cannot replace '%s'", name);
		goto remove;
	}
	if (sync_dir(dir_fd) == -1)
		return err_errno(err, "cannot write '%s' to disk", name);
	return 0;

remove:
	(void)unlinkat(dir_fd, temp, 0);
	return -1;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int
path_remove_tree(const char *path, struct err *err)
{
	if (nftw(path, remove_one, OPEN_DIRS, FTW_DEPTH | FTW_PHYS) == -1)
		return err_errno(err, "cannot remove '%s'", path);
	return 0;
}

int
path_split(const char *path, char **ret_dir, const char **ret_name,
	   struct err *err)
{
	const char *slash = strrchr(path, '/');
	size_t dir_len;

	if (path[0] != '/')
		return err_set(err, ERR_INVALID, "'%s' is not an absolute path",
			       path);
	if (slash[1] == '\0' || str_equal(slash + 1, ".") ||
	    str_equal(slash + 1, ".."))
		return err_set(err, ERR_INVALID, "'%s' has no file name", path);

	dir_len = (size_t)(slash - path);
	while (dir_len > 1 && path[dir_len - 1] == '/')
		dir_len--;
	*ret_dir = xstrndup(path, dir_len > 0 ? dir_len : 1);
	*ret_name = slash + 1;
	return 0;
}
