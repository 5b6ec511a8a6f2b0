/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_WORKER_H
#define LAUNCHER_WORKER_H

/*
 * worker - a thread for calls that wait, and its own connection to libvirt.
 *
 * Jobs are done one after the other. What must not wait for a job that hangs
 * has another worker.
 *
 * Threading: all from the loop's thread; a job's work() runs in the worker's,
 * its done() in the loop's. worker_conn() is for work() only.
 */

struct err;
struct loop;
struct virt_conn;
struct worker;

/* uri of libvirt; the name is for debuggers. Neither is copied. */
struct worker *worker_new(const char *name, struct loop *loop, const char *uri);

/* Waits for the job that is being done; those behind it are dropped without
 * done(). */
void worker_free(struct worker *worker);

void worker_do(struct worker *worker, void (*work)(struct worker *, void *arg),
	       void (*done)(void *arg), void *arg);

/* The connection, made anew when it has broken. -1: libvirtd is not there. */
int worker_conn(struct worker *worker, struct virt_conn **ret_conn,
		struct err *err);

/* How many connections were made so far; work() only. */
unsigned worker_conn_serial(const struct worker *worker);

#endif
