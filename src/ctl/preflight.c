/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/preflight.h"

#include <stdbool.h>
#include <stdlib.h>

#include "api/backoff.h"
#include "api/config.h"
#include "api/migration.h"
#include "api/names.h"
#include "api/vmi.h"
#include "api/vmim.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/checks.h"
#include "ctl/human.h"
#include "ctl/traffic.h"
#include "kube/conditions.h"
#include "kube/obj.h"
#include "meta/amount.h"
#include "meta/time.h"

static void
say_not_running(const char *phase, json_t *checks)
{
	checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "running",
		   "it is %s: only what runs can move", phase);
}

void
preflight_stopped(json_t *checks)
{
	say_not_running("stopped", checks);
}

static void
check_running(const struct preflight_facts *f, json_t *checks)
{
	const char *phase = js_str_at(f->vmi, "status.phase");

	if (str_equal(phase, "Running"))
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "running",
			   "on %s", js_str_at(f->vmi, "status.nodeName"));
	else
		say_not_running(phase[0] == '\0' ? "stopped" : phase, checks);
}

static void
check_migratable(const struct preflight_facts *f, json_t *checks)
{
	const json_t *conds = js_arr_at(f->vmi, "status.conditions");
	const json_t *cond = condition_get(conds, COND_LIVE_MIGRATABLE);

	if (condition_is_true(conds, COND_LIVE_MIGRATABLE))
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "migratable",
			   "%s", js_str_at(f->vmi, "status.migrationMethod"));
	else if (cond == NULL)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN,
			   "migratable", "its node has not said yet");
	else
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "migratable",
			   "%s: %s", js_str_at(cond, "reason"),
			   js_str_at(cond, "message"));
}

static void
check_rivals(const struct preflight_facts *f, json_t *checks)
{
	const json_t *vmim;
	size_t i;

	if (f->vmims == NULL) {
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN,
			   "other migrations", "may not be looked at");
		return;
	}
	json_array_foreach(f->vmims, i, vmim)
	{
		enum migration_phase phase;
		struct err ignored;

		if (migration_phase_parse(js_str_at(vmim, "status.phase"),
					  &phase, &ignored) == 0 &&
		    migration_phase_is_final(phase))
			continue;
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL,
			   "other migrations", "%s is not over",
			   obj_name(vmim));
		return;
	}
	checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "other migrations",
		   "none goes on");
}

bool
preflight_is_live(const json_t *pod)
{
	const char *phase = js_str_at(pod, "status.phase");

	return !str_equal(phase, "Succeeded") && !str_equal(phase, "Failed");
}

/* Of the machine's pods one runs it. Another, for example that it came from, is
 * waited for. */
static void
check_pods(const struct preflight_facts *f, json_t *checks)
{
	const json_t *pod;
	size_t i, live = 0;

	if (f->own == NULL) {
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN, "pod",
			   "pods of its namespace may not be looked at");
		return;
	}
	json_array_foreach(f->own, i, pod)
	{
		live += preflight_is_live(pod);
	}
	if (f->pod == NULL)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "pod",
			   "that which it runs in is not there");
	else if (live <= 1)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "pod", "%s",
			   obj_name(f->pod));
	else {
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_NOTE, "pod",
			   "%zu of its pods are alive: it would wait until "
			   "only one is",
			   live);
	}
}

/* What the controller waits for that stands on the machine. */
static void
check_holds(const struct preflight_facts *f, json_t *checks)
{
	struct err ignored;
	AUTO(vmi_unref) struct vmi *vmi = vmi_decode(f->vmi, &ignored);

	if (vmi == NULL)
		return;
	if (vmi->utility_volumes)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL,
			   "utility volumes",
			   "are attached: it would wait until they are not");
	if (vmi->backup_in_progress)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "backup",
			   "goes on: it would wait until that has ended");
}

/* Of drains and updates; a person's migration is not held back. */
static void
check_backoff(const struct preflight_facts *f, json_t *checks)
{
	size_t count = 0, size = json_array_size(f->vmims), i;
	struct vmim **vmims = xcalloc(size + 1, sizeof(struct vmim *));
	char until[TIME_TEXT_SIZE];
	struct backoff backoff;
	const json_t *item;
	struct err ignored;

	json_array_foreach(f->vmims, i, item)
	{
		vmims[count] = vmim_decode(item, &ignored);
		count += vmims[count] != NULL;
	}
	backoff = backoff_of(NULL, (const struct vmim *const *)vmims, count);
	if (backoff.until_us > f->now_us) {
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_NOTE, "back-off",
			   "drains and updates wait until %s: %s has failed, "
			   "failures in a row: %u",
			   time_text(backoff.until_us, until),
			   backoff.last->meta.name, backoff.failures);
	}
	for (i = 0; i < count; i++)
		vmim_free(vmims[i]);
	free((void *)vmims);
}

static void
check_admission(const struct preflight_facts *f, json_t *checks)
{
	const char *detail = f->refusal;
	enum check_result result = CHECK_FAIL;

	if (detail == NULL) {
		result = CHECK_UNKNOWN;
		detail = "migrations may not be made, which is how it is asked";
	} else if (detail[0] == '\0') {
		result = CHECK_OK;
		detail = "a migration would be accepted";
	}
	checks_add(checks, PREFLIGHT_MACHINE, result, "admission", "%s",
		   detail);
}

static bool
is_shared(const json_t *claim)
{
	const json_t *modes = js_arr_at(claim, "status.accessModes"), *mode;
	size_t i;

	if (modes == NULL)
		modes = js_arr_at(claim, "spec.accessModes");
	json_array_foreach(modes, i, mode)
	{
		if (str_equal(json_string_value(mode), "ReadWriteMany"))
			return true;
	}
	return false;
}

static void
check_storage(const struct preflight_facts *f, json_t *checks)
{
	const char *name;
	json_t *claim;

	json_object_foreach((json_t *)f->claims, name, claim)
	{
		if (json_is_false(claim))
			checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN,
				   "storage",
				   "the claim %s may not be looked at", name);
		else if (!json_is_object(claim))
			checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL,
				   "storage", "the claim %s is gone", name);
		else {
			checks_add(checks, PREFLIGHT_MACHINE,
				   is_shared(claim) ? CHECK_OK : CHECK_FAIL,
				   "storage", "the claim %s %s", name,
				   is_shared(claim)
					   ? "is shared (ReadWriteMany)"
					   : "is not ReadWriteMany");
		}
	}
}

static void
check_networks(const struct preflight_facts *f, json_t *checks)
{
	const char *name;
	json_t *there;

	json_object_foreach((json_t *)f->nets, name, there)
	{
		if (json_is_null(there))
			checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN,
				   "network", "%s may not be looked at", name);
		else {
			checks_add(checks, PREFLIGHT_MACHINE,
				   json_is_true(there) ? CHECK_OK : CHECK_FAIL,
				   "network",
				   "the NetworkAttachmentDefinition %s %s",
				   name,
				   json_is_true(there) ? "exists"
						       : "does not exist");
		}
	}
}

/* How much of what a quota counts one more pod takes. */
static struct quantity
pod_counts(const json_t *pod, const char *resource)
{
	static const struct {
		const char *name, *which, *resource;
	} known[] = {
		{ "cpu", "requests", "cpu" },
		{ "memory", "requests", "memory" },
		{ "requests.cpu", "requests", "cpu" },
		{ "requests.memory", "requests", "memory" },
		{ "limits.cpu", "limits", "cpu" },
		{ "limits.memory", "limits", "memory" },
	};
	struct quantity q = QUANTITY_ZERO;

	if (str_equal(resource, "pods") || str_equal(resource, "count/pods"))
		return quantity_from_int(1, QUANTITY_DECIMAL_SI);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(resource, known[i].name)) {
			(void)amount_of_pod(pod, known[i].which,
					    known[i].resource, &q);
			return q;
		}
	}
	return q;
}

static void
check_quota(const struct preflight_facts *f, const json_t *quota,
	    json_t *checks)
{
	json_t *hard = js_obj_at(quota, "spec.hard"), *value;
	const json_t *used = js_obj_at(quota, "status.used");
	char need_text[QUANTITY_TEXT_SIZE], free_text[QUANTITY_TEXT_SIZE];
	bool fits = true;
	const char *resource;

	json_object_foreach(hard, resource, value)
	{
		struct quantity need = pod_counts(f->pod, resource);
		struct quantity left, taken;

		(void)amount_of(value, &left);
		(void)amount_in(used, resource, &taken);
		left = quantity_sub(left, taken);
		if (quantity_cmp(&need, &left) <= 0)
			continue;
		fits = false;
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "quota",
			   "%s: the target pod needs %s %s, %s is left",
			   obj_name(quota),
			   quantity_text(&need, need_text, sizeof(need_text)),
			   resource,
			   quantity_text(&left, free_text, sizeof(free_text)));
	}
	if (fits)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "quota",
			   "%s has room for the target pod", obj_name(quota));
}

static void
check_quotas(const struct preflight_facts *f, json_t *checks)
{
	const json_t *quota;
	size_t i;

	if (f->quotas == NULL)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN, "quota",
			   "quotas may not be looked at");
	json_array_foreach(f->quotas, i, quota)
	{
		if (f->pod != NULL)
			check_quota(f, quota, checks);
	}
}

void
preflight_machine(const struct preflight_facts *facts, json_t *checks)
{
	if (!facts->config_known)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN, "settings",
			   "the KubeVirt object may not be looked at: defaults "
			   "are taken");
	check_running(facts, checks);
	check_migratable(facts, checks);
	check_pods(facts, checks);
	check_rivals(facts, checks);
	check_holds(facts, checks);
	check_backoff(facts, checks);
	check_admission(facts, checks);
	check_storage(facts, checks);
	check_networks(facts, checks);
	check_quotas(facts, checks);
}

void
preflight_settings(const struct preflight_facts *f,
		   const struct migration_config *config, const char *policy,
		   json_t *checks)
{
	char rate[HUMAN_SIZE];
	int64_t limit = quantity_value(&config->bandwidth);
	AUTO(free_ptr) char *bandwidth = NULL;

	bandwidth = limit > 0 ? xasprintf("%s/s", human_bytes(limit, rate))
			      : xstrdup("no limit");
	if (!f->policies_known)
		policy = "policies, or what they depend on, may not be looked "
			 "at; without one";
	checks_add(checks, PREFLIGHT_MACHINE,
		   f->policies_known ? CHECK_OK : CHECK_UNKNOWN, "policy",
		   "%s: bandwidth %s, %lld s per gigabyte%s%s%s",
		   policy[0] == '\0' ? "none" : policy, bandwidth,
		   (long long)config->completion_timeout_per_gib,
		   config->allow_auto_converge ? ", auto-converge" : "",
		   config->allow_post_copy ? ", post-copy" : "",
		   config->allow_workload_disruption ? ", may be disrupted"
						     : "");
}

void
preflight_limits(const struct preflight_facts *f,
		 const struct migration_config *config, json_t *checks)
{
	const char *from = js_str_at(f->vmi, "status.nodeName");
	struct traffic traffic;
	bool waits;

	if (f->others == NULL || f->machines == NULL) {
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN, "limits",
			   "%s of other namespaces may not be looked at",
			   f->others == NULL ? "migrations" : "machines");
		return;
	}
	traffic = traffic_count(f->others, f->machines, from);
	waits = traffic.all >= config->parallel_cluster ||
		traffic.outbound >= config->parallel_outbound;
	checks_add(checks, PREFLIGHT_MACHINE, waits ? CHECK_NOTE : CHECK_OK,
		   "limits", "%zu of %u in the cluster, %zu of %u from %s%s",
		   traffic.all, config->parallel_cluster, traffic.outbound,
		   config->parallel_outbound, from,
		   waits ? ": it would wait" : "");
}

enum preflight_verdict
preflight_verdict(const json_t *checks, size_t fit, bool unsure)
{
	if (checks_count(checks, PREFLIGHT_MACHINE, CHECK_FAIL) > 0)
		return PREFLIGHT_NO;
	if (unsure)
		return PREFLIGHT_UNKNOWN;
	return fit > 0 ? PREFLIGHT_YES : PREFLIGHT_NO;
}
