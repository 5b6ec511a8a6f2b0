/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PATHASK_H
#define CTL_PATHASK_H

/*
 * pathask - asks the agents of nodes something by a PathProbe, and waits.
 *
 * Threading: one thread.
 */

#include <stddef.h>

#include "base/js.h"

struct err;
struct kubesync;
struct pathprobe_question;

#define PATHASK_WAIT_MS 60000U

/*
 * Makes the object in ns, waits until the source has answered, and deletes it.
 * *ret_status is its status, a new reference; where nobody has answered in time
 * "source" or "target" are missing. -1 when it could not be asked.
 */
int pathask(struct kubesync *kube, const char *ns,
	    const struct pathprobe_question *question, json_t **ret_status,
	    struct err *err);

/* The same with several at once, which take no longer together than the slowest
 * of them: *ret_statuses is an array, in the order of the questions. */
int pathask_all(struct kubesync *kube, const char *ns,
		const struct pathprobe_question *questions, size_t count,
		json_t **ret_statuses, struct err *err);

#endif
