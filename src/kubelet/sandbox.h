/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_SANDBOX_H
#define KUBELET_SANDBOX_H

/*
 * sandbox - the namespaces that the containers of a pod share, kept by files.
 *
 * DIR/network, DIR/ipc and DIR/uts are mounts of the namespaces, so that they
 * are there without a process that holds them.
 *
 * sandbox_make() changes the namespaces of the calling process: for helpers.
 */

#include <stdbool.h>

struct err;

/* Makes them new, with this host name and the loopback interface up. */
int sandbox_make(const char *dir, const char *hostname, struct err *err);

/* Whether all of them are there. */
bool sandbox_is_there(const char *dir);
/* Whether something of them is. */
bool sandbox_is_left(const char *dir);

#endif
