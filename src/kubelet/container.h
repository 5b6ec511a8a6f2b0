/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_CONTAINER_H
#define KUBELET_CONTAINER_H

/*
 * container - what became of a container, as its directory tells.
 *
 * POD/containers/NAME/N is the directory of its Nth start, see monitor.h. The
 * last counts, and the one before for what was before; older ones are removed.
 * Nothing is remembered that is not there, which is how a kubelet that was
 * restarted knows as much as before.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct err;

enum container_phase {
	CONTAINER_NONE, /* never started */
	/* A directory without a state, and no monitor: it was never begun, or
	 * its monitor is about to. */
	CONTAINER_STALE,
	CONTAINER_STARTING, /* a monitor is at work */
	CONTAINER_RUNNING,
	CONTAINER_LOST, /* it ran, and its monitor is gone */
	CONTAINER_EXITED,
};

/* One start of a container. */
struct container_run {
	int exit_code;
	int signal; /* 0: none */
	int64_t started_us;
	int64_t finished_us;
	char reason[64];
	char message[256];
};

struct container {
	char *name;
	enum container_phase phase;
	unsigned attempt; /* of the last start */
	struct container_run now;
	struct container_run before; /* where has_before */
	char *image_ref;             /* of the last start; NULL: none */
	json_t *volumes; /* {"NAME": "imageRef"} of it; NULL: none */
	unsigned loaded; /* 1 + the attempt these two are of */
	bool init;
	bool has_before;
};

void container_done(struct container *container);

/* Looks again. pod_dir is the pod's directory. */
void container_look(struct container *container, const char *pod_dir);

/* The directory of a start; to be freed. */
char *container_dir(const char *pod_dir, const char *name, unsigned attempt);
/* Its name for crun, unique on the node; to be freed. */
char *container_id(const char *uid, const char *name, unsigned attempt);

/*
 * Makes the directory of a start with what the monitor needs. One that is there
 * and was never begun is used again.
 */
int container_write(const char *pod_dir, const char *name, unsigned attempt,
		    const json_t *config, const json_t *monitor,
		    struct err *err);

/*
 * Keeps monitors away from a start that was never begun, until *ret_fd is
 * closed. ERR_UNAVAILABLE when one is there.
 */
int container_lock(const char *pod_dir, const struct container *container,
		   int *ret_fd, struct err *err);

/* Writes the end of a container whose monitor cannot do it any more. */
int container_write_lost(const char *pod_dir, const struct container *container,
			 struct err *err);

#endif
