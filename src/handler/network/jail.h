/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_JAIL_H
#define HANDLER_NETWORK_JAIL_H

/*
 * jail - runs a program for a pod, away from everything else of the node.
 *
 * The program gets the pod's network namespace, its children the pod's PID
 * namespace: it is expected to put itself into the background, and only what is
 * in the background then is one of the pod's processes. That way nothing of
 * this process' memory and descriptors is ever within the pod's reach.
 *
 * Its root is a file system of its own with /usr, read-only, /dev/null and
 * /dev/urandom, one file, and users of the name "nobody".
 */

#include <stdint.h>

#include "handler/network/network.h"

struct err;

struct jail {
	const struct network_pod *pod;
	const char *const *argv; /* argv[0] is a path below /usr */
	const char *file;        /* the file's path: "/etc/x" */
	const char *contents;
	uint64_t capabilities; /* a bit each; all others are given up */
	unsigned timeout_ms;
};

/* Waits until the program has put itself into the background or failed; the
 * error has the last line it said. */
int jail_run(const struct jail *jail, struct err *err);

#endif
