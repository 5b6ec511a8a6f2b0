/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PEER_H
#define HANDLER_PEER_H

/*
 * peer - who is at the other end of a launcher's socket, and which pod it is
 * in.
 *
 * A socket tells the number of the process that listened on it. That process
 * may have ended, and its number been given to another: a pod that lets its
 * launcher's socket outlive the process would be taken for the pod of whoever
 * has the number now, and the handler would work in there. So
 *
 *  - where the kernel has SO_PEERPIDFD (Linux 6.5) the process is held by a
 *    descriptor, and must be alive after all that is its has been opened;
 *  - everywhere its cgroup must be one of the pod that it should be in, which
 *    no pod can get into or out of.
 *
 * Threading: any thread.
 */

#include <stdbool.h>
#include <sys/socket.h>

struct err;
struct network_pod;

/*
 * Opens the pod of the process that listens at the other end of fd, as
 * network_pod_open() does. ERR_NOT_FOUND when it has ended, ERR_DENIED when it
 * is in no pod, or in another one than that of this uid.
 */
int peer_open(int fd, const char *pod_uid, struct ucred *ret_peer,
	      struct network_pod *ret_pod, struct err *err);

/* Whether /proc/PID/cgroup is that of a process in the pod: some runtimes
 * write the uid as it is, some with underscores. */
bool peer_is_in_pod(const char *cgroups, const char *pod_uid);

#endif
