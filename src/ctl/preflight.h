/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PREFLIGHT_H
#define CTL_PREFLIGHT_H

/*
 * preflight - whether a machine would move now, and whereto: the checks that
 * the control plane, quotas and the scheduler would make. Pure.
 *
 * The target pod is made like the source pod, so that its requests, selectors,
 * affinity and tolerations are taken from there; a host-model CPU asks besides
 * for what the source node's labels say.
 *
 * Threading: any thread, with JSON of its own.
 */

#include "base/js.h"

struct migration_config;

/* All borrowed; NULL for what could not be read. */
struct preflight_facts {
	const json_t *vmi;
	const json_t *pod;    /* that it runs in */
	const json_t *vmims;  /* array: its migrations */
	const json_t *nodes;  /* array */
	const json_t *pods;   /* array: of all namespaces */
	const json_t *quotas; /* array: of its namespace */
	const json_t *claims; /* object: name to claim, null if it is gone */
	const json_t *nets;   /* object: "NS/NAME" to true, false if gone */
	const char *refusal;  /* of a dry run; "": it was accepted */
	const char *only;     /* node that is asked for; NULL: any */
};

#define PREFLIGHT_MACHINE "machine"

/* What is of the machine, whatever the node; "where" is PREFLIGHT_MACHINE. */
void preflight_machine(const struct preflight_facts *facts, json_t *checks);
/* The settings that it would have, by which policy ("" for none). */
void preflight_settings(const struct migration_config *config,
			const char *policy, json_t *checks);
/* Whether it would have to wait for others: of all migrations those that are on
 * their way, and of these those whose machine is on the node. NULL: not known.
 */
void preflight_limits(const struct migration_config *config,
		      const json_t *vmims, const json_t *vmis, const char *from,
		      json_t *checks);
/* Each node but the one it is on; "where" is its name. Returns how many fit. */
size_t preflight_nodes(const struct preflight_facts *facts, json_t *checks);

#endif
