/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_ANSWERS_H
#define CONTROLLER_MIGRATION_ANSWERS_H

/*
 * answers - what the server's answers to a run's requests mean: notes are
 * taken, events emitted. Private to run.c.
 */

#include "kube/client.h"

struct action;
struct run;
struct step;

enum verdict {
	VERDICT_NEXT,  /* on with the next request */
	VERDICT_TURN,  /* decide again */
	VERDICT_LOOK,  /* nobody knows whether there is a pod now: look */
	VERDICT_PAUSE, /* try again after a pause */
};

enum verdict answers_step(struct run *run, const struct step *step,
			  const struct action *action,
			  const struct kube_result *result);
/* To the look for the pod of that request. */
enum verdict answers_look(struct run *run, const struct action *action,
			  const struct kube_result *result);
/* To a write of enum write. */
enum verdict answers_write(struct run *run, unsigned which,
			   const struct kube_result *result);

/* The event of an action that could not be carried out. */
void answers_say_failed(struct run *run, const struct action *action,
			const char *text);

#endif
