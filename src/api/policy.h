/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_POLICY_H
#define API_POLICY_H

/*
 * policy - MigrationPolicies: which one a machine has, and what it changes.
 *
 * A policy matches when the namespace has all labels of its namespaceSelector
 * and the machine all of its virtualMachineInstanceSelector. One without
 * selectors matches nothing, one with empty ones everything. Of several the one
 * with the most labels wins, then the one with more labels of the machine, then
 * the one whose name comes first.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/config.h"
#include "api/objmeta.h"
#include "meta/quantity.h"

struct policy {
	struct objmeta meta;
	bool has_selectors;
	json_t *ns_selector;  /* an object of strings, or NULL */
	json_t *vmi_selector; /* the same */
	enum tristate allow_auto_converge;
	enum tristate allow_post_copy;
	enum tristate allow_workload_disruption;
	bool has_bandwidth, has_completion_timeout, has_max_downtime;
	struct quantity bandwidth;
	int64_t completion_timeout_per_gib;
	int64_t max_downtime_ms;
	json_t *experimental; /* NULL for none */
};

struct policy *policy_decode(const json_t *object, struct err *err);
void policy_free(struct policy *policy);
void policy_unref(struct policy **pointer);

/*
 * The policy of a machine; NULL when none matches. Labels are objects of
 * strings or NULL. A machine without any labels object is not asked for
 * labels: each policy that has selectors matches it, as in KubeVirt.
 */
const struct policy *policy_match(const struct policy *const *policies,
				  size_t count, const json_t *ns_labels,
				  const json_t *vmi_labels);

/*
 * The settings of one migration: what the policy says, or the cluster, or the
 * default. policy may be NULL. The caller owns *ret_config's contents.
 */
void policy_resolve(const struct policy *policy,
		    const struct migration_config *cluster,
		    struct migration_config *ret_config);

#endif
