/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_CHILDREN_H
#define LAUNCHER_CHILDREN_H

/*
 * children - starts programs, and reaps all that end in the pod.
 *
 * The launcher is the first process of its pod, or a subreaper: QEMU, which
 * libvirtd starts and lets go of, becomes its child. One that is not reaped
 * looks to libvirt as if it still ran, which costs a second at each migration.
 *
 * Threading: _new(), _start() and _free() in the loop's thread, _run() in any
 * other: it waits for what the loop does.
 */

#include <stdint.h>
#include <sys/types.h>

struct children;
struct err;
struct loop;

struct children *children_new(struct loop *loop);
void children_free(struct children *children);

/*
 * Starts argv[0], found in PATH. fn is called once when it has ended, with the
 * status of waitpid(2).
 */
int children_start(struct children *children, const char *const *argv,
		   void (*fn)(void *arg, int status), void *arg, pid_t *ret_pid,
		   struct err *err);

/*
 * Runs argv[0] to its end, which must be exit status 0 within timeout_ms; it is
 * killed then. The error has the last of what it said on stderr. env is NULL,
 * or "NAME=VALUE" to be added.
 */
int children_run(struct children *children, const char *const *argv,
		 const char *env, uint64_t timeout_ms, struct err *err);

#endif
