/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_REMEDIES_H
#define CTL_REMEDIES_H

/*
 * remedies - for each code that a migration or a machine waits or fails with:
 * what it means, what to look at, what to do, and where the runbook
 * (docs/operations.md) has more.
 *
 * Threading: any thread.
 */

#include <stddef.h>

#include "base/js.h"

#define REMEDY_STEPS 4

/* Not a code of its own: "Backoff" of a migration that an update asked for,
 * whose loop is ended in another way. */
#define REMEDY_BACKOFF_OF_UPDATE "BackoffOfUpdate"

/* Who uses the code: the same word may mean something else elsewhere. */
enum remedy_of {
	REMEDY_WAITING, /* reason of ferry.io/Waiting; docs/api.md */
	REMEDY_FAILURE, /* reason of ferry.io/Failure; docs/migration.md */
	REMEDY_NODE,    /* migrationState.failureCode, of handler or launcher */
	REMEDY_MACHINE, /* reason of LiveMigratable=False and the like */
	REMEDY_EVENT,   /* reason of an event of a machine */
	REMEDY_PROXY,   /* why ferry-proxy ended a stream; ferry-proxy(8) */
	REMEDY_OF_COUNT,
};

/* A sentence, and what to type; names as remedy_fill() has them. */
struct remedy_step {
	const char *what;    /* NULL: no more steps */
	const char *command; /* NULL: nothing to type */
};

struct remedy {
	enum remedy_of of;
	const char *code;
	const char *entry; /* of the runbook: "quota" */
	const char *meaning;
	struct remedy_step check[REMEDY_STEPS];
	struct remedy_step fix[REMEDY_STEPS];
};

/* NULL: nobody knows it. */
const struct remedy *remedy_find(enum remedy_of of, const char *code);
/* All of them, one after the other; NULL when there are no more. */
const struct remedy *remedy_at(size_t i);

/* What commands are about; NULL or "" for what is not known. */
struct remedy_names {
	const char *ns, *vm, *vmim, *source, *target, *pod;
};

/*
 * The text with "{ns}", "{vm}", "{vmim}", "{source}", "{target}" and "{pod}"
 * replaced; what is not known stands in capitals, for the reader to fill in.
 * To be freed.
 */
char *remedy_fill(const char *text, const struct remedy_names *names);

/* [{"what":, "command":}] of check or fix; a new reference. */
json_t *remedy_steps_json(const struct remedy_step steps[REMEDY_STEPS],
			  const struct remedy_names *names);

#endif
