/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_RUNSTATE_H
#define CONTROLLER_MIGRATION_RUNSTATE_H

/*
 * runstate - what run.c and answers.c know about a run. Private to them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "api/kinds.h"
#include "base/log.h"
#include "controller/migration/decision.h"
#include "controller/migration/internal.h"
#include "controller/migration/order.h"
#include "controller/migration/reading.h"

/* The request of an action. */
struct step {
	enum action_kind kind;
	struct order order;
	char *pod_uid; /* NULL: it is about none */
};

/* Requests about the migration itself, in this order. */
enum write {
	WRITE_STATUS,
	WRITE_FINALIZER,
	WRITE_DELETION,
	WRITE_COUNT,
};

struct run {
	TAILQ_ENTRY(run) entry;
	struct migrations *all;
	const char *key; /* the worker's */
	struct note *note;
	char *ns, *name, *uid;
	char *vmi_name, *vmi_uid;
	int64_t created_us;
	enum migration_phase phase; /* that the last decision began with */
	int64_t phase_since_us;
	char *waited_for; /* then; "" for nothing */
	int64_t waited_since_us;
	struct decision decision;
	struct reading *reading; /* NULL: the caches are looked at */
	json_t *ns_json;         /* the namespace; NULL: not read */
	struct step steps[DECISION_ACTIONS_MAX];
	size_t step_count, at;
	struct order writes[WRITE_COUNT]; /* without a body: none */
	struct kube_call *call;
	char *said; /* when nobody knew whether the pod was made; NULL */
	unsigned turns;
	uint64_t quota_changes; /* those of all when the turn began */
	uint64_t began_ns;
	bool urgent;  /* goes on, rather than waits */
	bool gone;    /* the migration does not exist any more */
	bool settled; /* it has ended, and nothing is left to do */
	bool current; /* and the caches show that */
};

#define RUNSTATE_REF 5

/* What lines of the log about it are about; returns ref. */
static inline log_ref
runstate_ref(const struct run *run, struct log_field ref[RUNSTATE_REF])
{
	ref[0] = (struct log_field){ "kind", api_vmims.kind };
	ref[1] = (struct log_field){ "namespace", run->ns };
	ref[2] = (struct log_field){ "name", run->name };
	ref[3] = (struct log_field){ "uid", run->uid };
	ref[4] = (struct log_field){ NULL, NULL };
	return ref;
}

#endif
