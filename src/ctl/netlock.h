/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_NETLOCK_H
#define CTL_NETLOCK_H

/*
 * netlock - who chooses the networks of a cluster does so alone.
 *
 * Which networks are free can be seen from the addresses that this computer
 * has; two clusters that look at the same moment would take the same. Whoever
 * looks holds the lock until the address that it chose is there. The lock goes
 * with its holder, however that ends; the file stays.
 *
 * Threading: any.
 */

struct err;

#define NETLOCK_PATH "/run/ferry-networks.lock"

/*
 * Waits for the lock, at most for timeout_ms: then ERR_TIMEOUT, with the pid of
 * who has it. It is held until *ret_fd is closed.
 */
int netlock_take(const char *path, unsigned timeout_ms, int *ret_fd,
		 struct err *err);

#endif
