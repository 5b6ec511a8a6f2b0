/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PAGE_H
#define CTL_PAGE_H

/*
 * page - what `ferryctl explain` says about a machine or a migration, made of
 * the objects that there are. Pure.
 *
 *	{"namespace", "machine": {"name", "phase", "node", ...},
 *	 "migration": {"name", "phase", "source", "target", ...},
 *	 "summary": SENTENCE,
 *	 "findings": [{"about", "code", "since", "message", "detail",
 *		       "meaning",
 *		       "checks": [{"what", "command"}], "remedies": [same],
 *		       "runbook": "docs/operations.md#quota"}],
 *	 "timeline": [see timeline.h], "timelineLeft": N,
 *	 "unseen": [SENTENCE]}
 *
 * Threading: one thread.
 */

#include "base/js.h"

#define PAGE_RUNBOOK "docs/operations.md"
#define PAGE_EVENT "event" /* "about" of what is over and no trouble */

/* All borrowed, all may be NULL. */
struct page_facts {
	const char *ns;
	const json_t *vm;
	const json_t *vmi;
	const json_t *vmim;   /* that is explained */
	const json_t *vmims;  /* array: all of the machine, with that one */
	const json_t *pods;   /* array: its launchers' */
	const json_t *events; /* array: about all of these */
	const json_t *nodes;  /* array: that it is on, and is to go to */
	const json_t *unseen; /* array of sentences: what could not be read */
};

/* A new reference. */
json_t *page_json(const struct page_facts *facts);
/* The same for people; to be freed. */
char *page_text(const json_t *page);

/* The newest of an array of migrations that has not ended, or else the newest;
 * borrowed, NULL: none. */
const json_t *page_choose(const json_t *vmims);

#endif
