/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_OVERVIEW_H
#define CTL_OVERVIEW_H

/*
 * overview - what `ferryctl top` shows: all migrations and nodes. Pure.
 *
 *	{"time", "namespace" (not when it is all),
 *	 "migrations": [{"namespace", "name", "vmi", "phase", "source",
 *"target", "state": "running" | "waiting" | "ended", "created", "ended",
 *"seconds", "mode", "progress": {...}, "waiting": {"reason", "message"},
 *			 "failure": {"reason", "message"}}],
 *	 "nodes": [{"name", "state", "machines", "incoming", "outgoing",
 *		    "toLeave", "drain": "" | "cordoned" | "draining" |
 *		    "drained"}],
 *	 "unseen": [SENTENCE], "trouble": SENTENCE}
 *
 * Migrations are in this order: those that run, those that wait (both oldest
 * first), those that ended within OVERVIEW_RECENT_S, the newest first.
 *
 * Threading: one thread.
 */

#include <stdint.h>

#include "base/js.h"

#define OVERVIEW_RECENT_S 600 /* ended so long ago are still shown */
#define OVERVIEW_ENDED_MAX 20 /* of these */

/* Arrays, borrowed; nodes are counted by all that is in them. */
struct overview_facts {
	const char *ns; /* whose migrations are shown; NULL: all */
	const json_t *vmims;
	const json_t *vmis;
	const json_t *nodes;
	const json_t *unseen; /* of sentences */
	const char *trouble;  /* "": none */
	int64_t now_us;
};

/* A new reference. */
json_t *overview_json(const struct overview_facts *facts);
/*
 * The same for people, in at most so many lines of so many columns, if they are
 * not 0; to be freed. Where it is too narrow, why a migration waits or failed
 * stands below it, and where that is not enough the names of migrations are
 * left off: machines have names, too. What is still too long is for whoever
 * draws it to cut.
 */
char *overview_text(const json_t *overview, unsigned columns, unsigned lines);

#endif
