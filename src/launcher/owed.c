/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/owed.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/random.h"
#include "launcher/qmp.h"

#define READ_BYTES 4096U

struct owed {
	struct loop_io *io;
	struct loop_timer *timer;
	void (*fn)(void *arg);
	void *arg;
	int fd;
	struct buf seen; /* the end of what has come */
	char id[32];     /* of our question, and so of its answer */
};

/* What QEMU sends is not kept: only as much of it as may begin our id. */
static bool
answered(struct owed *owed, size_t id_len)
{
	if (memmem(owed->seen.data, owed->seen.len, owed->id, id_len) != NULL)
		return true;
	if (owed->seen.len >= id_len)
		buf_consume(&owed->seen, owed->seen.len - id_len + 1);
	return false;
}

/* Whoever is told may free it, or not yet. */
static void
tell(struct owed *owed)
{
	loop_io_want(owed->io, 0);
	loop_timer_stop(owed->timer);
	owed->fn(owed->arg);
}

static void
on_ready(unsigned ready, void *arg)
{
	struct owed *owed = arg;
	ssize_t got = read(owed->fd, buf_reserve(&owed->seen, READ_BYTES),
			   READ_BYTES);

	(void)ready;
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0) {
		buf_commit(&owed->seen, (size_t)got);
		if (!answered(owed, strlen(owed->id)))
			return;
	}
	tell(owed);
}

static void
on_timeout(void *arg)
{
	struct owed *owed = arg;

	log_warning(NULL, "QEMU does not answer, starting libvirtd all the "
			  "same");
	tell(owed);
}

static int
dial_first(const char *pattern)
{
	glob_t found;
	int fd = -1;

	if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0)
		fd = qmp_connect(found.gl_pathv[0]);
	globfree(&found);
	return fd;
}

/* What a client has to say first is as good a question as any. */
static int
ask(struct owed *owed)
{
	char question[96];
	uint64_t number;
	int len;

	random_bytes(&number, sizeof(number));
	(void)snprintf(owed->id, sizeof(owed->id), "ferry-%016lx",
		       (unsigned long)number);
	len = snprintf(question, sizeof(question),
		       "{\"execute\":\"qmp_capabilities\",\"id\":\"%s\"}\n",
		       owed->id);
	return send(owed->fd, question, (size_t)len, MSG_NOSIGNAL) == len ? 0
									  : -1;
}

struct owed *
owed_new(struct loop *loop, const char *pattern, uint64_t timeout_ms,
	 void (*fn)(void *arg), void *arg)
{
	int fd = dial_first(pattern);
	struct owed *owed;

	if (fd == -1)
		return NULL;
	owed = xmalloc0(sizeof(*owed));
	*owed = (struct owed){
		.fn = fn,
		.arg = arg,
		.fd = fd,
		.seen = BUF_INIT(2 * READ_BYTES),
		.io = loop_io_new(loop, fd, on_ready, owed),
		.timer = loop_timer_new(loop, on_timeout, owed),
	};
	if (ask(owed) == -1) {
		owed_free(owed);
		return NULL;
	}
	loop_io_want(owed->io, LOOP_READ);
	loop_timer_start(owed->timer, timeout_ms * 1000);
	return owed;
}

void
owed_free(struct owed *owed)
{
	if (owed == NULL)
		return;
	loop_io_free(owed->io);
	loop_timer_free(owed->timer);
	(void)close(owed->fd);
	buf_done(&owed->seen);
	free(owed);
}
