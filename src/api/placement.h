/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_PLACEMENT_H
#define API_PLACEMENT_H

/*
 * placement - which nodes the pod of a machine may go to, by their labels.
 *
 * The controller makes pods with it, and who foresees a migration asks the
 * same. Objects are as the API gives them, and stay as they are.
 *
 * Threading: any thread, with JSON of its own.
 */

#include "base/js.h"

struct err;
struct kubevirt_config;

/* The node selector of an instance; a new reference. configuration is
 * spec.configuration of the KubeVirt object, NULL for none. */
json_t *placement_selector(const json_t *vmi,
			   const struct kubevirt_config *config,
			   const json_t *configuration);

/* Where a machine comes from that moves. All is borrowed. */
struct placement_source {
	const json_t *added_selector; /* of the migration; NULL for none */
	const json_t *pod;
	/* Needed for its CPU; NULL when it is gone, which is an error for
	 * machines that depend on it. */
	const json_t *node;
};

/*
 * Narrows the selector of a migration's target: to what the person asked for,
 * where the machine itself says nothing, and to CPUs on which a guest goes on
 * that has seen those of the source. ERR_CONFLICT when nobody says what these
 * are.
 */
int placement_narrow(const json_t *vmi, const struct kubevirt_config *config,
		     const struct placement_source *source, json_t *selector,
		     struct err *err);

#endif
