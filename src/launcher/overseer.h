/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_OVERSEER_H
#define LAUNCHER_OVERSEER_H

/*
 * overseer - looks at a migration a few times each second, and acts.
 *
 * What is to be done monitor.h says. For an abort libvirt is asked each second.
 * It says yes and may go on all the same, when a stream is stuck, or not answer
 * at all: how that ends is source.h's, which waits for nobody.
 *
 * Threading: a thread of its own, with its own connection to libvirt.
 */

/* The thread: of a struct flight, until that is over. Returns NULL. */
void *overseer_run(void *flight);

#endif
