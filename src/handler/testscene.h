/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_TESTSCENE_H
#define HANDLER_TESTSCENE_H

/*
 * testscene - a machine, one node's view of it and what is decided there, for
 * tests of decisions.
 */

#include "base/jsat.h"
#include "base/test.h"
#include "handler/testfacts.h"

#define STATE "status.migrationState."

/* What a case begins with and ends in; machine is what is decided about. */
struct scene {
	struct testnode node;
	struct decision decision;
	json_t *machine, *after;
};

/* What node sees of a machine in this phase; see testfacts_machine(). */
void scene_begin(struct scene *s, const char *node, const char *phase,
		 bool migrating);
void scene_end(struct scene *s);
/* The source, in the midst of a transfer; the launcher's record of it. */
struct launch_record *scene_begin_transfer(struct scene *s);

/* Sets a member of the migration's state; takes value. */
void scene_set_state(struct scene *s, const char *name, json_t *value);
/* Its pod has ended in this phase, and its launcher with it. */
void scene_end_pod(struct scene *s, enum pod_phase phase);
/* The target has said where it listens. */
void scene_make_target_ready(struct scene *s);

/* Decides, and checks who decided, with which step. */
void scene_expect(struct scene *s, const char *rule, enum step step);
/* Of the machine as it is then, by its path. */
const char *scene_text(const struct scene *s, const char *path);
/* What was written is seen. */
void scene_take_over(struct scene *s);

#endif
