/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_VERB_H
#define CTL_VERB_H

/*
 * verb - what commands that ask something of a machine have in common.
 *
 * Requests, texts and exit codes are those of virtctl.
 *
 * Threading: one thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/command.h"
#include "base/opts.h"
#include "ctl/kubesync.h"
#include "kube/config.h"

struct verb {
	struct kube_flags flags;
	bool dry_run;
	bool for_scripts; /* nothing is printed that is no JSON */
	struct kubesync *kube;
	const char *ns; /* that counts */
};

/* Rows for a table of options. */
#define VERB_OPTS(verb)                                               \
	KUBE_FLAGS_OPTS(&(verb)->flags),                              \
	{                                                             \
		"dry-run", NULL, "only say whether it could be done", \
			OPT_FLAG, &(verb)->dry_run, 0, 0              \
	}

/* virtctl tells wrong arguments and failures apart by their texts only. */
#define VERB_USAGE COMMAND_FAILED

/* command_parse() with that exit status. */
int verb_parse(const struct opts *opts, int argc, char **argv, int *ret_first,
	       int *ret_status);

/* Connects, and prints "Dry Run execution" if it is one. */
int verb_open(struct verb *verb, struct err *err);
void verb_done(struct verb *verb);

/* Puts what went wrong before why, as virtctl does: a blank between them.
 * Returns -1. */
int verb_error(const char *what, struct err *err);

/*
 * PUT of a subresource: plural is "virtualmachines" or
 * "virtualmachineinstances", what the rest of the path. body is borrowed, NULL
 * for {}; a dry run is put into it.
 */
int verb_put(struct verb *verb, const char *plural, const char *name,
	     const char *what, json_t *body, struct err *err);
/* A machine's instance; a new reference. */
int verb_get_vmi(struct verb *verb, const char *name, json_t **ret_vmi,
		 struct err *err);

#endif
