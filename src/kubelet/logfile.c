/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "meta/time.h"

#define HEAD_MAX 64
#define NS_PER_US 1000
#define NS_PER_S INT64_C(1000000000)

static const char *const stream_names[LOGFILE_STREAM_COUNT] = { "stdout",
								"stderr" };

struct logfile {
	int dir_fd;
	int fd;
	size_t max_bytes;
	size_t size;
	struct buf open[LOGFILE_STREAM_COUNT]; /* lines without their end */
};

static int
open_file(struct logfile *log, struct err *err)
{
	struct stat st;

	close_fd(&log->fd);
	if (path_open_at(log->dir_fd, LOGFILE_NAME,
			 O_WRONLY | O_APPEND | O_CREAT, 0640, &log->fd,
			 err) == -1)
		return -1;
	log->size = fstat(log->fd, &st) == 0 ? (size_t)st.st_size : 0;
	return 0;
}

int
logfile_open(int dir_fd, size_t max_bytes, struct logfile **ret,
	     struct err *err)
{
	struct logfile *log = xmalloc0(sizeof(*log));

	log->dir_fd = dir_fd;
	log->fd = -1;
	log->max_bytes = max_bytes;
	for (size_t i = 0; i < LOGFILE_STREAM_COUNT; i++)
		log->open[i] = BUF_INIT(LOGFILE_LINE_MAX);
	if (open_file(log, err) == -1) {
		free(log);
		return -1;
	}
	*ret = log;
	return 0;
}

/* "2026-11-16T14:00:00.123456789Z", always of the same length. */
static void
stamp(char *text, size_t size)
{
	struct timespec now;
	struct tm tm;
	size_t len;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	len = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + len, size - len, ".%09ldZ", now.tv_nsec);
}

static void
put_line(struct logfile *log, enum logfile_stream stream, bool whole)
{
	struct buf *open = &log->open[stream];
	char at[HEAD_MAX], head[2 * HEAD_MAX];
	struct iovec parts[3];
	struct err err;
	int n;

	if (log->size >= log->max_bytes) {
		(void)renameat(log->dir_fd, LOGFILE_NAME, log->dir_fd,
			       LOGFILE_OLD);
		(void)open_file(log, &err);
	}
	stamp(at, sizeof(at));
	n = snprintf(head, sizeof(head), "%s %s %c ", at, stream_names[stream],
		     whole ? 'F' : 'P');
	parts[0] = (struct iovec){ head, (size_t)n };
	parts[1] = (struct iovec){ open->data, open->len };
	parts[2] = (struct iovec){ (char *)(uintptr_t) "\n", 1 };
	if (log->fd != -1 && writev(log->fd, parts, 3) > 0)
		log->size += (size_t)n + open->len + 1;
	buf_clear(open);
}

void
logfile_write(struct logfile *log, enum logfile_stream stream, const char *data,
	      size_t len)
{
	struct buf *open = &log->open[stream];

	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		size_t part = end == NULL ? len : (size_t)(end - data);
		size_t room = open->limit - open->len;

		if (part > room) {
			(void)buf_append(open, data, room);
			put_line(log, stream, false);
			data += room;
			len -= room;
			continue;
		}
		(void)buf_append(open, data, part);
		data += part;
		len -= part;
		if (end != NULL) {
			put_line(log, stream, true);
			data++;
			len--;
		}
	}
}

void
logfile_free(struct logfile *log)
{
	if (log == NULL)
		return;
	for (size_t i = 0; i < LOGFILE_STREAM_COUNT; i++) {
		if (log->open[i].len > 0)
			put_line(log, i, false);
		buf_done(&log->open[i]);
	}
	close_fd(&log->fd);
	free(log);
}

/* The nanoseconds that time_parse() cuts. */
static int64_t
below_us(const char *text, size_t len)
{
	const char *dot = memchr(text, '.', len);
	int64_t ns = 0, unit = NS_PER_S;

	if (dot == NULL)
		return 0;
	for (dot++; dot < text + len && *dot >= '0' && *dot <= '9'; dot++) {
		unit /= 10;
		ns += (*dot - '0') * unit;
	}
	return ns % NS_PER_US;
}

bool
logfile_parse(const char *line, size_t len, struct logfile_line *ret)
{
	const char *space = memchr(line, ' ', len);
	char at[HEAD_MAX];
	int64_t us;
	struct err err;

	if (space == NULL || (size_t)(space - line) >= sizeof(at))
		return false;
	ret->stamp = line;
	ret->stamp_len = (size_t)(space - line);
	memcpy(at, line, ret->stamp_len);
	at[ret->stamp_len] = '\0';
	if (time_parse(at, &us, &err) == -1)
		return false;
	ret->at_ns = us * NS_PER_US + below_us(at, ret->stamp_len);
	len -= ret->stamp_len + 1;
	line = space + 1;
	/* "stdout F " */
	if (len < 9 || line[6] != ' ' || line[8] != ' ' ||
	    (line[7] != 'F' && line[7] != 'P'))
		return false;
	if (memcmp(line, "stdout", 6) == 0)
		ret->stream = LOGFILE_STDOUT;
	else if (memcmp(line, "stderr", 6) == 0)
		ret->stream = LOGFILE_STDERR;
	else
		return false;
	ret->whole = line[7] == 'F';
	ret->text = line + 9;
	ret->len = len - 9;
	return true;
}
