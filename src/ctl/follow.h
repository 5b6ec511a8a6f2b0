/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_FOLLOW_H
#define CTL_FOLLOW_H

/*
 * follow - shows a migration until it has ended.
 *
 * On a terminal a text that is rewritten, with a bar, in as many lines as it
 * needs; otherwise a line for each change, which is each second of a transfer;
 * or a JSON object in each line. A migration that waits says for what. Ctrl-C
 * stops following and leaves the migration alone; a second one within
 * FOLLOW_TWICE_MS cancels it.
 *
 * An API server that goes away meanwhile is waited for, and the line says so.
 *
 * Threading: one thread.
 */

#include <stdint.h>

#include "base/js.h"

struct err;
struct verb;

#define FOLLOW_TWICE_MS 3000U
#define FOLLOW_TROUBLE_MS \
	1000U           /* how often a server that is away is looked at */
#define FOLLOW_WIDTH 20 /* of the bar */

enum follow_style {
	FOLLOW_AUTO, /* a bar on a terminal, lines otherwise */
	FOLLOW_JSON,
};

enum follow_end {
	FOLLOW_SUCCEEDED,
	FOLLOW_FAILED,
	FOLLOW_CANCELED,
	FOLLOW_TIMED_OUT,
	FOLLOW_DETACHED,
};

/* Exit statuses of `migrate --wait`, by follow_end. */
#define FOLLOW_STATUS_FAILED 3
#define FOLLOW_STATUS_CANCELED 4
#define FOLLOW_STATUS_TIMED_OUT 5
#define FOLLOW_STATUS_DETACHED 6
int follow_status(enum follow_end end);

struct follow_request {
	const char *migration;
	const char *vmi;
	enum follow_style style;
	uint64_t timeout_ms; /* 0: none */
};

int follow_migration(struct verb *verb, const struct follow_request *request,
		     enum follow_end *ret_end, struct err *err);

/* What the nodes say of a migration; borrowed, NULL: nothing. The machine's
 * copy is newer; vmi may be NULL. */
const json_t *follow_state(const json_t *vmim, const json_t *vmi);
/* One line about a migration; state may be NULL. Pure; to be freed. */
char *follow_line(const json_t *vmim, const json_t *state);
/* The same as an object, a new reference. */
json_t *follow_json(const json_t *vmim, const json_t *state);

#endif
