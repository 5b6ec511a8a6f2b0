/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/console.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

#define CHUNK 65536

struct follower {
	int fd;      /* the file */
	int notices; /* inotify */
};

static int
put(const char *data, size_t len)
{
	while (len > 0) {
		ssize_t done = write(STDOUT_FILENO, data, len);

		if (done == -1 && errno != EINTR)
			return -1;
		if (done > 0) {
			data += done;
			len -= (size_t)done;
		}
	}
	return 0;
}

/* QEMU appends: after the cut it goes on at the beginning. */
static void
keep_small(int fd)
{
	if (lseek(fd, 0, SEEK_CUR) < CONSOLE_FILE_MAX)
		return;
	if (ftruncate(fd, 0) == 0)
		(void)lseek(fd, 0, SEEK_SET);
}

static void *
run(void *arg)
{
	struct follower *f = arg;
	char *data = xmalloc0(CHUNK);
	char notice[sizeof(struct inotify_event) * 16];

	(void)pthread_setname_np(pthread_self(), "console");
	for (;;) {
		ssize_t got = read(f->fd, data, CHUNK);

		if (got > 0 && put(data, (size_t)got) == -1)
			break;
		if (got > 0)
			continue;
		keep_small(f->fd);
		if (read(f->notices, notice, sizeof(notice)) <= 0 &&
		    errno != EINTR)
			break;
	}
	free(data);
	(void)close(f->fd);
	(void)close(f->notices);
	free(f);
	return NULL;
}

int
console_follow(const char *path, struct err *err)
{
	struct follower *f;
	AUTO(close_fd) int fd = -1;
	AUTO(close_fd) int notices = -1;
	pthread_t thread;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd == -1)
		return err_errno(err, "cannot open '%s'", path);
	notices = inotify_init1(IN_CLOEXEC);
	if (notices == -1 || inotify_add_watch(notices, path, IN_MODIFY) == -1)
		return err_errno(err, "cannot watch '%s'", path);
	f = xmalloc0(sizeof(*f));
	f->fd = TAKE_FD(fd);
	f->notices = TAKE_FD(notices);
	if (pthread_create(&thread, NULL, run, f) != 0) {
		close_fd(&f->fd);
		close_fd(&f->notices);
		free(f);
		return err_set(err, ERR_LIMIT, "cannot start a thread");
	}
	(void)pthread_detach(thread);
	return 0;
}
