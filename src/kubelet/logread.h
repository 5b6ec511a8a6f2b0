/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_LOGREAD_H
#define KUBELET_LOGREAD_H

/*
 * logread - reads the log of a container from where somebody asked, and on.
 *
 * Over both files of logfile.h, and over their change while it is read. Gives
 * out what the container wrote, without what logfile.h added, unless times are
 * wanted.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct logread;

struct logread_options {
	const char *dir;     /* of the container's start */
	int64_t tail;        /* lines; -1: all */
	int64_t since_ns;    /* since 1970; 0: all */
	int64_t limit_bytes; /* -1: all */
	bool timestamps;
};

/* A log that is not there yet is empty. */
struct logread *logread_new(const struct logread_options *options);
void logread_free(struct logread *read); /* NULL is fine */

/*
 * Appends some more to out, at most about a portion. False when there is no
 * more now; when the limit is reached *ret_over is set.
 */
bool logread_more(struct logread *read, struct buf *out, bool *ret_over);

#endif
