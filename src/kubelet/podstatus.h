/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_PODSTATUS_H
#define KUBELET_PODSTATUS_H

/*
 * podstatus - what a pod's status says.
 *
 * Pure. Threading: any thread, with JSON of its own.
 */

#include "base/js.h"
#include "kubelet/plan.h"

struct podstatus_in {
	const json_t *pod; /* as the API has it */
	const struct plan_in *plan;
	const char *host_ip;
	const json_t *pod_ips; /* array of strings; NULL: none */
	int64_t started_us;    /* when the kubelet first saw it */
	/* Why the next step does not succeed; NULL: nothing is wrong. */
	const char *waiting_reason;
	const char *waiting_message;
	const char *waiting_container; /* NULL: all that wait */
	/* The containers, in order, of the pod. */
	int64_t now_us;
};

/* A new reference. Times that did not change stay as they were. */
json_t *podstatus_make(const struct podstatus_in *in);

#endif
