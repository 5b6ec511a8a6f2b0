/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_PLAN_H
#define WEBHOOK_PLAN_H

/*
 * plan - what a subresource is to do: pure functions from what was read and
 * asked for to the writes that follow, or to the refusal in KubeVirt's words.
 *
 * Threading: any thread, with JSON of its own.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct kubevirt_config;
struct status;

#define PLAN_STEPS_MAX 3

enum step_kind {
	STEP_PATCH_VM, /* body: a JSON patch */
	STEP_PATCH_VM_STATUS,
	STEP_PATCH_VMI,
	STEP_CREATE_MIGRATION, /* body: the object */
	STEP_DELETE_POD,       /* body: the options; one that is gone is fine */
	STEP_PAUSE,            /* body: true or false; see pause.h */
};

struct step {
	enum step_kind kind;
	json_t *body;
	char *name; /* of a pod; NULL: that of the machine */
	/* A write that comes too late (what it tests has changed) is a
	 * conflict; else it is an internal error, as all other failures. */
	bool tests;
};

/* Done in order; the first that fails ends it. */
struct plan {
	struct step steps[PLAN_STEPS_MAX];
	size_t count;
	int code; /* the answer when all is done */
};

void plan_free(struct plan *plan); /* NULL is fine */

struct plan_facts {
	const char *name;      /* of the machine */
	const json_t *options; /* the body of the request, an object */
	bool has_body;
	const json_t *vm;   /* NULL where there is none, or nobody asked */
	const json_t *vmi;  /* likewise */
	const json_t *pods; /* running ones of the VMI: a list, or NULL */
	const json_t *node; /* the VMI's, see plan_node() */
	const struct kubevirt_config *config;
};

/* NULL with st filled when it is refused. */
typedef struct plan *plan_fn(const struct plan_facts *facts, struct status *st);

/* Of a VirtualMachine. */
plan_fn plan_start, plan_stop, plan_restart, plan_migrate;
/* Of a VirtualMachineInstance. */
plan_fn plan_pause, plan_unpause;
/* Of both. */
plan_fn plan_evacuate_cancel;

/* The node whose taint keeps an evacuation going; "" for none. */
const char *plan_node(const json_t *vmi);
/* Whether a restart needs to know the pods. */
bool plan_is_forced(const json_t *options);

#endif
