/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_QMP_H
#define LAUNCHER_QMP_H

/*
 * qmp - a monitor of QEMU that is the launcher's own, beside libvirt's.
 *
 * A QEMU whose main thread waits for a page of the guest answers nobody. What
 * it is told out of band is carried out all the same, by another thread; but
 * that has to be agreed on while it still answers. So the monitor is dialed as
 * soon as there is a QEMU, and kept (docs/decisions/0029-second-monitor.md).
 *
 * What QEMU sends is not trusted: a line that is too long or makes no sense
 * ends the connection, and so does one who does not get ready in time. It is
 * dialed again by the next qmp_dial().
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct err;
struct loop;
struct qmp;

#define QMP_LINE_MAX 65536U
#define QMP_READY_MS 10000U /* to be greeted, and to agree */

/* How QEMU's own stream of a migration is, whichever end of it this is. */
enum qmp_stream {
	QMP_STREAM_NONE, /* nothing was heard, or is any more */
	QMP_STREAM_PRE_COPY,
	QMP_STREAM_POST_COPY, /* flows, in post-copy */
	QMP_STREAM_PAUSED,    /* broke in post-copy */
	QMP_STREAM_RECOVERS,  /* is being taken up again */
	QMP_STREAM_COMPLETED,
	QMP_STREAM_FAILED,
	QMP_STREAM_COUNT,
};

struct qmp_config {
	struct loop *loop;
	const char *path; /* of the socket that QEMU listens on; copied */
	void (*told)(void *ctx, enum qmp_stream stream);
	void *ctx;
};

struct qmp *qmp_new(const struct qmp_config *config);
/* Whoever waits for an answer gets none. NULL is fine. */
void qmp_free(struct qmp *qmp);

/* Connects, unless it is or tries to; nothing happens where nobody listens. */
void qmp_dial(struct qmp *qmp);

/* The same over a connection that is there, for tests. Takes fd, which does not
 * block. */
void qmp_adopt(struct qmp *qmp, int fd);

/* It is connected, and takes commands out of band. */
bool qmp_ready(const struct qmp *qmp);

/* There is a QEMU that has such a monitor, whether it answers or not. */
bool qmp_exists(const struct qmp *qmp);

struct qmp_command {
	const char *name;
	json_t *arguments; /* borrowed */
	bool out_of_band;
	uint64_t timeout_ms;
};

/* err is NULL when QEMU has done it. Called once. */
typedef void qmp_done_fn(void *arg, const struct err *err);

/* One command at a time: ERR_CONFLICT while another one is under way,
 * ERR_UNAVAILABLE unless qmp_ready(). */
int qmp_call(struct qmp *qmp, const struct qmp_command *command,
	     qmp_done_fn *done, void *arg, struct err *err);

/* The socket of a QEMU, not waiting; -1: nobody listens there. */
int qmp_connect(const char *path);

const char *qmp_stream_name(enum qmp_stream stream);

#endif
