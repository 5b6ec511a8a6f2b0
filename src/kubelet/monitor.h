/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_MONITOR_H
#define KUBELET_MONITOR_H

/*
 * monitor - runs one container, once, and remembers what became of it.
 *
 * A process of its own, so that the kubelet can end and come back: the
 * container is the monitor's child, its output goes through the monitor into
 * the log, and its exit code into a file. All of it is in the container's
 * directory:
 *
 *	monitor.json	what to do; written by the kubelet (oci.c)
 *	config.json	the OCI bundle
 *	lock		held as long as the monitor lives
 *	state.json	how it is; whole or not there
 *	log, log.1	see logfile.h
 *	crun.log	what crun has to say
 *
 * A directory with a state is never run again. A state that says "running"
 * without the lock being held is that of a monitor that was killed, together
 * with a container that may live on.
 */

struct err;

#define MONITOR_CONFIG "monitor.json"
#define MONITOR_LOCK "lock"
#define MONITOR_STATE "state.json"
#define MONITOR_STATE_MAX 65536
#define MONITOR_CONFIG_MAX (1024UL * 1024)

/* How long crun may take for each step. */
#define MONITOR_CRUN_MS (60U * 1000)
/* Exit code of a container that could not be started, as in Kubernetes. */
#define MONITOR_START_ERROR 128

/* Becomes the monitor of the container in dir. 0 when there is a state. */
int monitor_run(const char *dir, struct err *err);

#endif
