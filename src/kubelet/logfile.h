/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_LOGFILE_H
#define KUBELET_LOGFILE_H

/*
 * logfile - what a container writes, line by line, in files that do not grow
 * without end.
 *
 * Lines are those of the CRI: "TIME stdout F text", with P instead of F where
 * a line is not complete (its end was not written, or it is longer than
 * LOGFILE_LINE_MAX). When the file is full it becomes LOGFILE_OLD and a new one
 * begins; of the older one nothing is kept.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct logfile;

#define LOGFILE_NAME "log"
#define LOGFILE_OLD "log.1"
#define LOGFILE_LINE_MAX 16384

enum logfile_stream {
	LOGFILE_STDOUT,
	LOGFILE_STDERR,
	LOGFILE_STREAM_COUNT,
};

/* Appends to the file in dir_fd, which stays the caller's and is used later. */
int logfile_open(int dir_fd, size_t max_bytes, struct logfile **ret,
		 struct err *err);
void logfile_free(struct logfile *log); /* ends open lines; NULL is fine */

/* A disk that is full loses lines, not the container. */
void logfile_write(struct logfile *log, enum logfile_stream stream,
		   const char *data, size_t len);

/* The parts of a line; text points into it and has no line end. */
struct logfile_line {
	int64_t at_ns; /* since 1970 */
	const char *stamp;
	size_t stamp_len;
	enum logfile_stream stream;
	bool whole;
	const char *text;
	size_t len;
};

/* False when it is none of ours. line is of len bytes, without its end. */
bool logfile_parse(const char *line, size_t len, struct logfile_line *ret);

#endif
