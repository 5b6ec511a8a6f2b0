/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pathprobe.h"

#include <stdlib.h>

#include "api/check.h"
#include "api/check_internal.h"
#include "api/kinds.h"
#include "api/text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"

static const char *const measures[] = {
	[PATHPROBE_NONE] = "None",
	[PATHPROBE_HANDSHAKE] = "Handshake",
	[PATHPROBE_THROUGHPUT] = "Throughput",
};
_Static_assert(ARRAY_LEN(measures) == PATHPROBE_MEASURE_COUNT, "one each");

/* Where a side's node is said, and where it answers. */
static const struct {
	const char *node, *answer, *name;
} sides[] = {
	[PATHPROBE_SOURCE] = { "spec.sourceNode", "status.source", "source" },
	[PATHPROBE_TARGET] = { "spec.targetNode", "status.target", "target" },
};
_Static_assert(ARRAY_LEN(sides) == PATHPROBE_SIDE_COUNT, "one each");

const char *
pathprobe_side_name(enum pathprobe_side side)
{
	return sides[side].name;
}

const char *
pathprobe_measure_name(enum pathprobe_measure measure)
{
	return measures[measure];
}

/* What is not said is nothing; what is not known is refused. */
static int
decode_measure(const json_t *object, struct pathprobe *probe, struct err *err)
{
	const char *text = js_str_at(object, "spec.measure");

	if (text[0] == '\0')
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(measures); i++) {
		if (str_equal(measures[i], text)) {
			probe->measure = (enum pathprobe_measure)i;
			return 0;
		}
	}
	return err_set(err, ERR_INVALID, "spec.measure is '%s'", text);
}

struct pathprobe *
pathprobe_decode(const json_t *object, struct err *err)
{
	AUTO(pathprobe_unref)
	struct pathprobe *probe = xmalloc0(sizeof(*probe));

	if (objmeta_decode(object, &probe->meta, err) == -1 ||
	    decode_measure(object, probe, err) == -1)
		return NULL;
	for (size_t i = 0; i < PATHPROBE_SIDE_COUNT; i++) {
		probe->node[i] = text_at(object, sides[i].node);
		probe->answer[i] =
			json_incref(js_obj_at(object, sides[i].answer));
	}
	probe->vmi_name = text_at(object, "spec.vmiName");
	probe->guest = js_bool_at(object, "spec.guest", false);
	if (probe->node[PATHPROBE_SOURCE][0] == '\0') {
		(void)err_set(err, ERR_INVALID, "spec.sourceNode is missing");
		return NULL;
	}
	if (str_equal(probe->node[PATHPROBE_SOURCE],
		      probe->node[PATHPROBE_TARGET])) {
		(void)err_set(err, ERR_INVALID,
			      "spec.targetNode is the source node '%s'",
			      probe->node[PATHPROBE_TARGET]);
		return NULL;
	}
	return TAKE_PTR(probe);
}

void
pathprobe_free(struct pathprobe *probe)
{
	if (probe == NULL)
		return;
	objmeta_done(&probe->meta);
	for (size_t i = 0; i < PATHPROBE_SIDE_COUNT; i++) {
		text_free(probe->node[i]);
		json_decref(probe->answer[i]);
	}
	text_free(probe->vmi_name);
	free(probe);
}

void
pathprobe_unref(struct pathprobe **pointer)
{
	pathprobe_free(*pointer);
	*pointer = NULL;
}

json_t *
pathprobe_new(const struct pathprobe_question *question)
{
	json_t *spec = json_pack(
		"{s:s, s:s, s:b}", "sourceNode", question->source, "measure",
		measures[question->measure], "guest", (int)question->guest);

	if (question->target[0] != '\0')
		json_object_set_new(spec, "targetNode",
				    json_string(question->target));
	if (question->vmi_name[0] != '\0')
		json_object_set_new(spec, "vmiName",
				    json_string(question->vmi_name));
	return json_pack("{s:s+, s:s, s:{s:s}, s:o}", "apiVersion",
			 api_path_probes.group, "/v1alpha1", "kind",
			 api_path_probes.kind, "metadata", "generateName",
			 "probe-", "spec", spec);
}

int
pathprobe_check_update(const json_t *old_object, const json_t *new_object,
		       const char *node, struct status *st)
{
	if (node == NULL || node[0] == '\0')
		return check_deny(st, CHECK_INVALID, NULL,
				  "Node restriction, the token of the agent "
				  "names no node");
	for (size_t i = 0; i < PATHPROBE_SIDE_COUNT; i++) {
		if (check_same(js_at(old_object, sides[i].answer),
			       js_at(new_object, sides[i].answer)) ||
		    str_equal(js_str_at(old_object, sides[i].node), node))
			continue;
		(void)check_deny(st, CHECK_INVALID, sides[i].answer,
				 "Node restriction, the answer of the %s is "
				 "not for '%s' to write",
				 sides[i].name, node);
	}
	return st->code == 0 ? 0 : -1;
}
