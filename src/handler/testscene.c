/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/testscene.h"

#include <string.h>

void
scene_begin(struct scene *s, const char *node, const char *phase,
	    bool migrating)
{
	memset(s, 0, sizeof(*s));
	testnode_init(&s->node, node);
	s->machine = testfacts_machine(phase, migrating);
}

void
scene_end(struct scene *s)
{
	decision_done(&s->decision);
	json_decref(s->machine);
	json_decref(s->after);
	testnode_done(&s->node);
}

struct launch_record *
scene_begin_transfer(struct scene *s)
{
	scene_begin(s, "a", "Running", true);
	scene_make_target_ready(s);
	scene_set_state(s, "startTimestamp",
			json_string("2026-01-01T00:00:00Z"));
	s->node.facts.source.uid = TEST_UID;
	s->node.status.state = LAUNCH_RUNNING;
	return testnode_record(&s->node, LAUNCH_SOURCE);
}

void
scene_set_state(struct scene *s, const char *name, json_t *value)
{
	testfacts_set(s->machine, "status.migrationState", name, value);
}

void
scene_end_pod(struct scene *s, enum pod_phase phase)
{
	s->node.pod.phase = phase;
	s->node.facts.link = LINK_NONE;
	s->node.facts.status = NULL;
}

void
scene_make_target_ready(struct scene *s)
{
	scene_set_state(s, "targetNodeAddress", json_string("10.0.0.2"));
	scene_set_state(s, "targetDirectMigrationNodePorts",
			json_pack("{s:i, s:i}", "4711", 0, "4712", 49152));
}

void
scene_expect(struct scene *s, const char *rule, enum step step)
{
	json_decref(s->after);
	decision_done(&s->decision);
	testnode_see(&s->node, s->machine);
	testnode_decide(&s->node, &s->decision, rule, step);
	s->after = testnode_after(&s->node, &s->decision);
}

const char *
scene_text(const struct scene *s, const char *path)
{
	return js_str_at(s->after, path);
}

void
scene_take_over(struct scene *s)
{
	json_decref(s->machine);
	s->machine = json_deep_copy(s->after);
}
