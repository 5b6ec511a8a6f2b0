/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/logread.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "kubelet/logfile.h"

#define PORTION 65536
/* A line of ours, with its head. */
#define LINE_MAX_BYTES (LOGFILE_LINE_MAX + 256)

struct logread {
	struct logread_options options;
	int dir_fd;
	int fd; /* -1: none is open */
	struct buf rest;
	int64_t left; /* bytes; -1: no limit */
};

static int
open_name(const struct logread *r, const char *name)
{
	struct err ignored;
	int fd;

	if (r->dir_fd == -1 ||
	    path_open_at(r->dir_fd, name, O_RDONLY, 0, &fd, &ignored) == -1)
		return -1;
	return fd;
}

/*
 * Goes back from the end of the file by so many lines, and leaves it there; how
 * many it did not find. The parts of a long line count each.
 */
static int64_t
back_lines(int fd, int64_t lines)
{
	off_t at = lseek(fd, 0, SEEK_END), size = at;
	char data[PORTION];

	if (lines == 0)
		return 0;
	while (at > 0) {
		size_t part = at < PORTION ? (size_t)at : PORTION;
		ssize_t n;

		at -= (off_t)part;
		n = pread(fd, data, part, at);
		for (ssize_t i = n - 1; i >= 0; i--) {
			off_t behind = at + i + 1;

			/* The one at the very end begins no line. */
			if (data[i] != '\n' || behind == size)
				continue;
			if (--lines == 0) {
				(void)lseek(fd, behind, SEEK_SET);
				return 0;
			}
		}
	}
	(void)lseek(fd, 0, SEEK_SET);
	return size > 0 ? lines - 1 : lines;
}

static void
open_first(struct logread *r)
{
	int now = open_name(r, LOGFILE_NAME);
	int before = open_name(r, LOGFILE_OLD);
	int64_t missing = r->options.tail;

	if (r->options.tail >= 0 && now != -1)
		missing = back_lines(now, r->options.tail);
	if (missing > 0 && before != -1)
		(void)back_lines(before, missing);
	if (before != -1 && (r->options.tail < 0 || missing > 0)) {
		r->fd = before;
		close_fd(&now);
		return;
	}
	close_fd(&before);
	r->fd = now;
}

struct logread *
logread_new(const struct logread_options *options)
{
	struct logread *r = xmalloc0(sizeof(*r));
	struct err ignored;

	r->options = *options;
	r->options.dir = NULL;
	r->left = options->limit_bytes;
	r->rest = BUF_INIT(PORTION + LINE_MAX_BYTES);
	r->fd = -1;
	if (path_open_dir(options->dir, &r->dir_fd, &ignored) == -1)
		r->dir_fd = -1;
	open_first(r);
	return r;
}

void
logread_free(struct logread *r)
{
	if (r == NULL)
		return;
	close_fd(&r->fd);
	close_fd(&r->dir_fd);
	buf_done(&r->rest);
	free(r);
}

static void
put(struct logread *r, struct buf *out, const char *data, size_t len)
{
	if (r->left >= 0 && (int64_t)len > r->left)
		len = (size_t)r->left;
	if (r->left >= 0)
		r->left -= (int64_t)len;
	(void)buf_append(out, data, len);
}

static void
put_line(struct logread *r, struct buf *out, const char *line, size_t len)
{
	struct logfile_line parts;

	if (!logfile_parse(line, len, &parts) ||
	    parts.at_ns < r->options.since_ns)
		return;
	if (r->options.timestamps) {
		put(r, out, parts.stamp, parts.stamp_len);
		put(r, out, " ", 1);
	}
	put(r, out, parts.text, parts.len);
	if (parts.whole)
		put(r, out, "\n", 1);
}

/* The file after this one, if it came to an end. */
static bool
next_file(struct logread *r)
{
	struct stat now, open;
	int fd = open_name(r, LOGFILE_NAME);

	if (fd == -1)
		return false;
	if (r->fd != -1 &&
	    (fstat(fd, &now) == -1 || fstat(r->fd, &open) == -1 ||
	     now.st_ino == open.st_ino)) {
		close_fd(&fd);
		return false;
	}
	close_fd(&r->fd);
	r->fd = fd;
	buf_clear(&r->rest);
	return true;
}

bool
logread_more(struct logread *r, struct buf *out, bool *ret_over)
{
	uint8_t *room = buf_reserve(&r->rest, PORTION);
	size_t from = 0;
	ssize_t n;

	*ret_over = r->left == 0;
	if (*ret_over || room == NULL)
		return false;
	n = r->fd == -1 ? 0 : read(r->fd, room, PORTION);
	if (n <= 0)
		return next_file(r);
	buf_commit(&r->rest, (size_t)n);
	for (;;) {
		const char *line = (const char *)r->rest.data + from;
		const char *end = memchr(line, '\n', r->rest.len - from);

		if (end == NULL)
			break;
		put_line(r, out, line, (size_t)(end - line));
		from += (size_t)(end - line) + 1;
	}
	buf_consume(&r->rest, from);
	/* What is no line of ours is dropped. */
	if (r->rest.len > LINE_MAX_BYTES)
		buf_clear(&r->rest);
	*ret_over = r->left == 0;
	return true;
}
