/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_PAUSE_H
#define WEBHOOK_PAUSE_H

/*
 * pause - asks the agent of the node to pause or to resume a machine, and waits
 * until it has done so.
 *
 * The request is annotations of the machine, see "Pausing" in docs/api.md; it
 * has an id, so that it is carried out once, and is withdrawn when nobody has
 * answered in time: a machine must not stop long after everybody has given up.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

#include "base/js.h"

struct kube_client;
struct pause;
struct status;

#define PAUSE_TIMEOUT_MS 10000 /* as KubeVirt waits for its agent */

struct pause_config {
	struct kube_client *client;
	const char *ns, *name; /* of the machine; copied */
	bool pause;            /* else resume */
	bool dry_run;          /* the request is sent as such: nobody sees it */
	/* Called once, from the loop; code 0 when it is done. */
	void (*done)(const struct status *st, void *arg);
	void *arg;
};

struct pause *pause_start(const struct pause_config *config);
/* Nobody is called any more. Also from within done; NULL is fine. */
void pause_free(struct pause *pause);

enum pause_answer {
	PAUSE_WAITING,
	PAUSE_DONE,
	PAUSE_FAILED, /* *ret_why is why, of the object */
};

/* What the machine says about the request of that id. Pure. */
enum pause_answer pause_judge(const json_t *vmi, const char *id,
			      const char **ret_why);

#endif
