/* SPDX-License-Identifier: Apache-2.0 */
#include "api/policy.h"

#include <stdlib.h>
#include <string.h>

#include "api/text.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"

static enum tristate
tristate_at(const json_t *obj, const char *name)
{
	const json_t *member = js_at(obj, name);

	if (!json_is_boolean(member))
		return TRISTATE_UNSET;
	return json_is_true(member) ? TRISTATE_TRUE : TRISTATE_FALSE;
}

static int
decode_number(const json_t *spec, const char *name, bool *ret_has,
	      int64_t *ret_value, struct err *err)
{
	const json_t *member = js_at(spec, name);

	if (member == NULL)
		return 0;
	if (!json_is_integer(member) || json_integer_value(member) < 0)
		return err_set(err, ERR_INVALID, "spec.%s must not be negative",
			       name);
	*ret_has = true;
	*ret_value = json_integer_value(member);
	return 0;
}

static int
decode_spec(const json_t *spec, struct policy *policy, struct err *err)
{
	const json_t *bandwidth = js_at(spec, "bandwidthPerMigration");

	policy->has_selectors = js_obj_at(spec, "selectors") != NULL;
	policy->ns_selector = text_obj_at(spec, "selectors.namespaceSelector");
	policy->vmi_selector =
		text_obj_at(spec, "selectors.virtualMachineInstanceSelector");
	policy->experimental = text_obj_at(spec, "experimental");
	policy->allow_auto_converge = tristate_at(spec, "allowAutoConverge");
	policy->allow_post_copy = tristate_at(spec, "allowPostCopy");
	policy->allow_workload_disruption =
		tristate_at(spec, "allowWorkloadDisruption");
	if (bandwidth != NULL) {
		policy->has_bandwidth = true;
		if (text_quantity(bandwidth, "spec.bandwidthPerMigration",
				  &policy->bandwidth, err) == -1)
			return -1;
	}
	if (decode_number(spec, "completionTimeoutPerGiB",
			  &policy->has_completion_timeout,
			  &policy->completion_timeout_per_gib, err) == -1)
		return -1;
	return decode_number(spec, "maxDowntimeMs", &policy->has_max_downtime,
			     &policy->max_downtime_ms, err);
}

struct policy *
policy_decode(const json_t *object, struct err *err)
{
	AUTO(policy_unref) struct policy *policy = xmalloc0(sizeof(*policy));

	if (objmeta_decode(object, &policy->meta, err) == -1 ||
	    decode_spec(js_obj_at(object, "spec"), policy, err) == -1)
		return NULL;
	return TAKE_PTR(policy);
}

void
policy_free(struct policy *policy)
{
	if (policy == NULL)
		return;
	objmeta_done(&policy->meta);
	json_decref(policy->ns_selector);
	json_decref(policy->vmi_selector);
	json_decref(policy->experimental);
	free(policy);
}

void
policy_unref(struct policy **pointer)
{
	policy_free(*pointer);
	*pointer = NULL;
}

/* How many labels the selector asks for; -1 when one is not there. */
static int
score(const json_t *selector, const json_t *labels)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)selector, key, value)
	{
		const json_t *label = json_object_get(labels, key);

		if (label == NULL || !json_equal(label, value))
			return -1;
	}
	return (int)json_object_size(selector);
}

struct rank {
	const struct policy *policy;
	int total, vmi;
};

/* Whether a comes before b. */
static bool
outranks(const struct rank *a, const struct rank *b)
{
	if (b->policy == NULL || a->total != b->total)
		return b->policy == NULL || a->total > b->total;
	if (a->vmi != b->vmi)
		return a->vmi > b->vmi;
	return strcmp(a->policy->meta.name, b->policy->meta.name) < 0;
}

const struct policy *
policy_match(const struct policy *const *policies, size_t count,
	     const json_t *ns_labels, const json_t *vmi_labels)
{
	struct rank best = { .policy = NULL };

	for (size_t i = 0; i < count; i++) {
		struct rank rank = { .policy = policies[i] };
		int ns = 0;

		if (!policies[i]->has_selectors)
			continue;
		if (vmi_labels != NULL) {
			ns = score(policies[i]->ns_selector, ns_labels);
			rank.vmi = score(policies[i]->vmi_selector, vmi_labels);
		}
		if (ns == -1 || rank.vmi == -1)
			continue;
		rank.total = ns + rank.vmi;
		if (outranks(&rank, &best))
			best = rank;
	}
	return best.policy;
}

static void
resolve_bool(enum tristate said, bool *value)
{
	if (said != TRISTATE_UNSET)
		*value = said == TRISTATE_TRUE;
}

void
policy_resolve(const struct policy *policy,
	       const struct migration_config *cluster,
	       struct migration_config *ret_config)
{
	migration_config_copy(ret_config, cluster);
	if (policy == NULL)
		return;
	resolve_bool(policy->allow_auto_converge,
		     &ret_config->allow_auto_converge);
	resolve_bool(policy->allow_post_copy, &ret_config->allow_post_copy);
	/* Follows allowPostCopy where only that is said. */
	resolve_bool(policy->allow_post_copy,
		     &ret_config->allow_workload_disruption);
	resolve_bool(policy->allow_workload_disruption,
		     &ret_config->allow_workload_disruption);
	if (policy->has_bandwidth)
		ret_config->bandwidth = policy->bandwidth;
	if (policy->has_completion_timeout)
		ret_config->completion_timeout_per_gib =
			policy->completion_timeout_per_gib;
	if (policy->has_max_downtime)
		ret_config->max_downtime_ms = policy->max_downtime_ms;
	if (policy->experimental != NULL) {
		json_decref(ret_config->experimental);
		ret_config->experimental = json_incref(policy->experimental);
	}
}
