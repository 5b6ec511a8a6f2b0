/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/netlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"

#define POLL_NS (20L * 1000 * 1000)
#define PID_SIZE 16 /* of its text */

/* For those who wait in vain; nothing else depends on it. */
static void
leave_pid(int fd)
{
	char text[PID_SIZE];
	int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(fd, 0) == -1 ||
	    pwrite(fd, text, (size_t)len, 0) != (ssize_t)len)
		return;
}

static int
late(int fd, const char *path, unsigned timeout_ms, struct err *err)
{
	char text[PID_SIZE] = "";
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	text[strspn(text, "0123456789")] = '\0';
	return err_set(err, ERR_TIMEOUT,
		       "'%s' was locked by process %s for %u s: does another "
		       "ferryctl hang?",
		       path, text[0] == '\0' ? "?" : text, timeout_ms / 1000);
}

int
netlock_take(const char *path, unsigned timeout_ms, int *ret_fd,
	     struct err *err)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t until = loop_now_ms() + timeout_ms;
	AUTO(close_fd)
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd == -1)
		return err_errno(err, "cannot open '%s'", path);
	while (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(err, "cannot lock '%s'", path);
		if (loop_now_ms() >= until)
			return late(fd, path, timeout_ms, err);
		(void)nanosleep(&pause, NULL);
	}
	leave_pid(fd);
	*ret_fd = TAKE_FD(fd);
	return 0;
}
