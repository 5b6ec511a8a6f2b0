/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_OVERSEER_H
#define LAUNCHER_OVERSEER_H

/*
 * overseer - looks at a migration a few times each second, and acts.
 *
 * What is to be done monitor.h says. How an abort ends: libvirt is asked each
 * second. It says yes and may go on all the same, when a stream is stuck. After
 * the grace of the flight's configuration the loop is told that streams must be
 * cut; who owns them does, and libvirt's call returns.
 *
 * Threading: a thread of its own, with its own connection to libvirt.
 */

/* The thread: of a struct flight, until that is over. Returns NULL. */
void *overseer_run(void *flight);

#endif
