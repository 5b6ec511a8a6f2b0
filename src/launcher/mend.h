/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_MEND_H
#define LAUNCHER_MEND_H

/*
 * mend - takes a broken post-copy up again, by QEMU's second monitor.
 *
 * In this order, since QEMU 7.2 does not bear a stream that breaks while it is
 * taken up:
 *  1. The target's QEMU says that its stream broke. It is made to listen again
 *     at once, out of band: its main thread may wait for a page that nobody can
 *     send before. The record says after how many breaks it was (`listening`).
 *  2. The source's is told to connect (`recover`), once its handler has read
 *     that of its own break, and once the way to the target is there.
 *
 * libvirt takes no part in it. It finds the domain where it has arrived, and
 * gone where it has left, when QEMU says that all is done.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

struct launcher;
struct mend;

struct mend *mend_new(struct launcher *launcher);
/* NULL is fine. */
void mend_free(struct mend *mend);

/* There may be a QEMU now. */
void mend_look(struct mend *mend);

/* Whether QEMU has a second monitor: one that an earlier launcher has started
 * has none, and libvirt has to do it. */
bool mend_is_possible(const struct mend *mend);

/* QEMU here is the source, and is to go on: flight.h has what comes of it. */
void mend_resume(struct mend *mend);

#endif
