/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_VIRTWORKER_H
#define LAUNCHER_VIRTWORKER_H

/*
 * virtworker - a thread for calls that wait, and its own connection to libvirt.
 *
 * Jobs are done one after the other. What must not wait for a job that hangs
 * has another worker.
 *
 * Threading: all from the loop's thread; a job's work() runs in the worker's,
 * its done() in the loop's. virtworker_conn() is for work() only.
 */

struct err;
struct loop;
struct virt_conn;
struct virtworker;

/* uri of libvirt; the name is for debuggers. Neither is copied. */
struct virtworker *virtworker_new(const char *name, struct loop *loop,
				  const char *uri);

/* Waits for the job that is being done; those behind it are dropped without
 * done(). */
void virtworker_free(struct virtworker *worker);

void virtworker_do(struct virtworker *worker,
		   void (*work)(struct virtworker *, void *arg),
		   void (*done)(void *arg), void *arg);

/* The connection, made anew when it has broken. -1: libvirtd is not there. */
int virtworker_conn(struct virtworker *worker, struct virt_conn **ret_conn,
		    struct err *err);

/* How many connections were made so far; work() only. */
unsigned virtworker_conn_serial(const struct virtworker *worker);

#endif
