/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_OWED_H
#define LAUNCHER_OWED_H

/*
 * owed - the answers that QEMU owes to a libvirtd that has died.
 *
 * QEMU gives an answer to whoever is connected when it has one. It may take
 * seconds, and then the next libvirtd gets what its predecessor has asked for,
 * takes it for the answer to a question of its own, cannot make sense of it,
 * and ends the machine. So somebody asks before it is started, and waits for
 * the answer to that: all that was owed has come by then.
 *
 * Threading: only from the loop's thread.
 */

#include <stdint.h>

struct loop;
struct owed;

/*
 * Asks the QEMU whose monitor is the first socket that matches the pattern of
 * glob(3). fn is called once: when it has answered or ended, or after
 * timeout_ms. NULL when there is none to ask: fn is not called then.
 */
struct owed *owed_new(struct loop *loop, const char *pattern,
		      uint64_t timeout_ms, void (*fn)(void *arg), void *arg);
/* Also from within fn; fn is not called any more. NULL is fine. */
void owed_free(struct owed *owed);

#endif
