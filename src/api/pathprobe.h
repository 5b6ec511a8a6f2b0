/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_PATHPROBE_H
#define API_PATHPROBE_H

/*
 * pathprobe - a question to the agents of two nodes about the way between them.
 *
 * Whoever asks makes the object. The target node answers first, in
 * status.target: what its proxy says, and where it listens if something is to
 * be measured. Then the source node measures and answers in status.source, by
 * which the question is answered. docs/api.md has the members.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "api/objmeta.h"

struct status;

enum pathprobe_measure {
	PATHPROBE_NONE,       /* only what the proxies say */
	PATHPROBE_HANDSHAKE,  /* one connection, a byte there and back */
	PATHPROBE_THROUGHPUT, /* and as much as goes through in a second */
	PATHPROBE_MEASURE_COUNT,
};

/* Who answers. */
enum pathprobe_side {
	PATHPROBE_SOURCE,
	PATHPROBE_TARGET,
	PATHPROBE_SIDE_COUNT,
};

struct pathprobe {
	struct objmeta meta;
	char *node[PATHPROBE_SIDE_COUNT]; /* the target may be "" */
	char *vmi_name;                   /* "" for none */
	enum pathprobe_measure measure;
	bool guest;
	/* status.source, status.target; NULL: not answered yet. */
	json_t *answer[PATHPROBE_SIDE_COUNT];
};

struct pathprobe *pathprobe_decode(const json_t *object, struct err *err);
void pathprobe_free(struct pathprobe *probe);
void pathprobe_unref(struct pathprobe **pointer);

/* "source", "target": the member of the status. */
const char *pathprobe_side_name(enum pathprobe_side side);
const char *pathprobe_measure_name(enum pathprobe_measure measure);

/* A new object that asks; a new reference. Texts may be "". */
struct pathprobe_question {
	const char *source, *target;
	const char *vmi_name;
	enum pathprobe_measure measure;
	bool guest;
};
json_t *pathprobe_new(const struct pathprobe_question *question);

/*
 * What the agent of a node may change: the status, and in it only the answer
 * of its side. node is "" or NULL when its identity does not tell.
 */
int pathprobe_check_update(const json_t *old_object, const json_t *new_object,
			   const char *node, struct status *st);

#endif
