/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_MACHINE_H
#define HANDLER_MACHINE_H

/*
 * machine - what a handler remembers of one machine between two looks at it.
 *
 * Nothing of it is needed to go on: a handler that starts anew finds it out
 * again. machine.c gathers facts and carries decisions out, steps.c has the
 * single steps, claims.c asks for the machine's claims.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "handler/decide.h"
#include "handler/meter.h"
#include "handler/migratable.h"
#include "handler/proxyctl.h"
#include "kube/client.h"

struct claims;
struct handler;
struct launchlink;
struct machine;
struct netjob;
struct network_result;

struct machine {
	struct map_node node; /* of the handler's */
	struct handler *handler;
	char *key; /* "ns/name" */
	char *ns, *name;
	char *uid; /* of the VMI that was seen last; "" */

	struct launchlink *link; /* NULL: no pod */
	char *pod_uid;           /* that it leads to; "" */
	json_t *interfaces;
	struct network_result *network;
	struct netjob *netjob; /* its network is being made */
	int64_t network_us;    /* when that was last made or looked at */

	char *counted; /* see meter_record() */

	struct migratable migratable;
	bool judged;
	int64_t judged_us;
	struct claims *claims; /* being asked for */

	/* Migrations that the listeners were started for. */
	char *listens_for[PROXY_SIDE_COUNT];
	json_t *target_result;
	char *finalized, *swept;
	char *blame_uid; /* ferry-proxy has been asked about its failure */
	json_t *blame;   /* and has said this; NULL for nothing */
	char *pause_id, *pause_failure; /* the request that failed, and why */
	int64_t shutdown_us; /* when the guest was asked to; 0: not */

	/* The object as this handler has written it, until it is seen so. */
	struct vmi *newer_vmi;
	json_t *newer;
	/* The machine was asked for, and is not there. */
	bool gone;

	/* The step that failed last, and is not to be tried again before. */
	enum step failed_step;
	unsigned failures; /* of it, in a row */
	int64_t retry_us;

	bool busy; /* a look at it is under way */
	struct decision decision;
	char *step_uid; /* the migration that its step is for; "" */
	struct kube_call *call;
};

struct machine *machine_new(struct handler *handler, const char *key);
void machine_free(struct machine *m);

/* Looks at it; ends with handler_looked(). Not while it is busy. */
void machine_look(struct machine *m);
/* Its object has been seen in this version. */
void machine_seen(struct machine *m, const char *version);
/* Nothing is left of it here that would need it. */
bool machine_is_idle(const struct machine *m);
/* ferry-proxy has told what runs. */
void machine_proxy_changed(struct machine *m);

/* For meter_write(); good until control goes back to the loop. */
struct meter_machine machine_measured(const struct machine *m);

/* The object to go by; NULL for none. */
const struct vmi *machine_vmi(const struct machine *m);
const json_t *machine_object(const struct machine *m);

/* Its pod on this node; NULL for none. */
const struct pod *machine_pod(const struct machine *m);

/* steps.c: does m->decision.step, and calls machine_step_done() once. */
void machine_step(struct machine *m);
void machine_step_done(struct machine *m, const struct err *err);

#endif
