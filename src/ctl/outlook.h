/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_OUTLOOK_H
#define CTL_OUTLOOK_H

/*
 * outlook - judges what the agents of two nodes have measured, and predicts how
 * a machine would move. Pure.
 *
 * Threading: any thread, with JSON of its own.
 */

#include <stddef.h>
#include <stdint.h>

#include "api/config.h"
#include "base/js.h"

struct err;

/* All borrowed; NULL for what could not be read. */
struct outlook_facts {
	const json_t *vmi;
	const json_t *kubevirt; /* the object */
	const json_t *policies; /* array */
	const json_t *ns;       /* the machine's namespace, the object */
	const json_t *claims;   /* object: name to claim */
	const json_t *machines; /* array: all of them */
};

/* The settings that a migration of the machine would have; the caller frees
 * their contents. *ret_policy is the name of its policy, "" for none, to be
 * freed. */
int outlook_settings(const struct outlook_facts *facts,
		     struct migration_config *ret_config, char **ret_policy,
		     struct err *err);

/*
 * Adds a check for each thing that the agents of both nodes have told (status
 * is that of a PathProbe), under the target node's name, and the prediction,
 * which fails where the machine would not arrive. Returns {"path", "guest",
 * "prediction"}, a new reference.
 */
json_t *outlook_judge(const struct outlook_facts *facts,
		      const struct migration_config *config, const char *node,
		      const json_t *status, int64_t now_us, json_t *checks);

#endif
