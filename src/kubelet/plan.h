/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_PLAN_H
#define KUBELET_PLAN_H

/*
 * plan - what to do next about a pod.
 *
 * Pure: from what the pod should be and what there is, one step. It is done,
 * everything is looked at again, and the next is planned; so it does not matter
 * at which of them a kubelet was killed.
 *
 * On its way up:   objects, volumes, sandbox, init containers one by one, then
 *                  all others, again and again as the restart policy says.
 * On its way down: TERM to all, KILL when the grace is over, network, what is
 *                  left of it on the node, and at last the object.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kubelet/container.h"

enum plan_policy {
	PLAN_ALWAYS,
	PLAN_ON_FAILURE,
	PLAN_NEVER,
};

enum plan_step {
	PLAN_WAIT,    /* until something happens, or wait_ms are over */
	PLAN_PREPARE, /* fetch objects, make volumes */
	PLAN_SANDBOX, /* namespaces and networks */
	PLAN_START,   /* container `index` */
	PLAN_TERM,    /* container `index` */
	PLAN_KILL,    /* container `index` */
	PLAN_BURY,    /* container `index`: its monitor is gone */
	PLAN_DISCARD, /* container `index`: a start that never was */
	PLAN_NET_DOWN,
	PLAN_REMOVE, /* all that is left on the node */
	PLAN_FORGET, /* the object, then the pod */
};

/* For logs. */
const char *plan_step_name(enum plan_step step);

struct plan_in {
	enum plan_policy policy;
	bool going;    /* it is being deleted, or is gone from the API */
	bool removed;  /* nothing is left on the node */
	bool prepared; /* volumes are there */
	bool sandbox;  /* namespaces and networks are there */
	bool network;  /* something of them is there, and has to go at last */
	const struct container *containers; /* init ones first */
	const bool *terminated;             /* of each: TERM was sent */
	size_t count;
	int64_t now_us;
	int64_t kill_us; /* when TERM has been enough; while going */
	uint64_t backoff_ms;
	uint64_t backoff_max_ms;
};

struct plan {
	enum plan_step step;
	size_t index;
	uint64_t wait_ms; /* 0: nothing to wait for but changes */
};

struct plan plan_next(const struct plan_in *in);

/* What the pod is, by its containers. */
enum plan_phase {
	PLAN_PENDING,
	PLAN_RUNNING,
	PLAN_SUCCEEDED,
	PLAN_FAILED,
};

enum plan_phase plan_phase(const struct plan_in *in);

/* How long from its end until the container may start again; in milliseconds
 * of a container that ended this often. */
uint64_t plan_pause_ms(const struct plan_in *in, const struct container *c);

/* Whether a container that ended is to be started again. */
bool plan_restarts(const struct plan_in *in, const struct container *c);

#endif
