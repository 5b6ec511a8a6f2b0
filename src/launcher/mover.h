/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_MOVER_H
#define LAUNCHER_MOVER_H

/*
 * mover - is inside of libvirt's migration call from the beginning to the end,
 * with an overseer beside it, and then finds out what became of the domain.
 *
 * Threading: a thread of its own, with its own connection to libvirt.
 */

/* The thread: of a struct flight. The last it tells is the outcome; it is to be
 * joined then. Returns NULL. */
void *mover_run(void *arg);

#endif
