/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PREFLIGHT_H
#define CTL_PREFLIGHT_H

/*
 * preflight - whether a machine would move now: the checks that the control
 * plane, quotas and policies would make of it, whatever the node; nodefit.h has
 * those of nodes. Pure.
 *
 * Threading: any thread, with JSON of its own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct kubevirt_config;
struct migration_config;

/* All borrowed; NULL for what may not be read. */
struct preflight_facts {
	const json_t *vmi;
	const json_t *own;      /* array: the machine's pods */
	const json_t *pod;      /* of these the one it runs in */
	const json_t *vmims;    /* array: its migrations */
	const json_t *others;   /* array: all migrations */
	const json_t *machines; /* array: all machines */
	const json_t *nodes;    /* array */
	const json_t *pods;     /* array: of all namespaces */
	const json_t *quotas;   /* array: of its namespace */
	/* object: name to claim, null if it is gone, false if it may not be
	 * read */
	const json_t *claims;
	/* object: "NS/NAME" to true, false if gone, null if not readable */
	const json_t *nets;
	const struct kubevirt_config *config; /* never NULL for nodes */
	const json_t *configuration;          /* spec.configuration of it */
	bool config_known;   /* otherwise these are the defaults */
	bool policies_known; /* and what they are chosen by */
	/* Of a dry run; "": it was accepted; NULL: it may not be made. */
	const char *refusal;
	const char *only; /* node that is asked for; NULL: any */
	int64_t now_us;
};

#define PREFLIGHT_MACHINE "machine"

/* A pod that has not ended, and takes what it requests. */
bool preflight_is_live(const json_t *pod);

/* What is of the machine, whatever the node; "where" is PREFLIGHT_MACHINE. */
void preflight_machine(const struct preflight_facts *facts, json_t *checks);
/* The same of a machine that has no instance. */
void preflight_stopped(json_t *checks);
/* The settings that it would have, by which policy ("" for none). */
void preflight_settings(const struct preflight_facts *facts,
			const struct migration_config *config,
			const char *policy, json_t *checks);
/* Whether it would have to wait for others, in the cluster or on its node. */
void preflight_limits(const struct preflight_facts *facts,
		      const struct migration_config *config, json_t *checks);

enum preflight_verdict {
	PREFLIGHT_YES,
	PREFLIGHT_NO,
	PREFLIGHT_UNKNOWN, /* what decides it may not be read */
};

/* fit: nodes of which nothing is known against it. unsure: something could not
 * be looked at that might be. */
enum preflight_verdict preflight_verdict(const json_t *checks, size_t fit,
					 bool unsure);

#endif
