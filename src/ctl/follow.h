/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_FOLLOW_H
#define CTL_FOLLOW_H

/*
 * follow - shows a migration until it has ended.
 *
 * On a terminal one line that is rewritten, with a bar; otherwise a line for
 * each change and each second of a transfer; or a JSON object in each line.
 * A migration that waits says for what. Ctrl-C stops following and leaves the
 * migration alone; a second one within FOLLOW_TWICE_MS cancels it.
 *
 * Threading: one thread.
 */

#include <stdint.h>

#include "base/js.h"

struct err;
struct verb;

#define FOLLOW_POLL_MS 500U
#define FOLLOW_TWICE_MS 3000U
#define FOLLOW_WIDTH 30 /* of the bar */

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

/* timeout_ms 0: none. */
int follow_migration(struct verb *verb, const char *name,
		     enum follow_style style, uint64_t timeout_ms,
		     enum follow_end *ret_end, struct err *err);

/* One line about a migration; state is the machine's migrationState, NULL for
 * none. Pure; to be freed. */
char *follow_line(const json_t *vmim, const json_t *state);
/* The same as an object, a new reference. */
json_t *follow_json(const json_t *vmim, const json_t *state);

#endif
