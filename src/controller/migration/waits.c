/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/waits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/backoff.h"
#include "api/names.h"
#include "base/array.h"
#include "controller/migration/gc.h"
#include "controller/migration/rank.h"
#include "meta/time.h"

bool
waits_set(const struct facts *facts, struct decision *d, const char *reason,
	  const char *message)
{
	return decision_set_cond(d, facts, COND_WAITING, reason, "%s", message);
}

static void
retry(const struct facts *f, struct decision *d)
{
	decision_again(d, f->now_us + rank_retry_us(f));
}

static struct backoff
backoff(const struct facts *f)
{
	return backoff_of(f->vmim, f->others, f->other_count);
}

static bool
in_backoff(const struct facts *f)
{
	return backoff(f).until_us > f->now_us;
}

/* Which try it is, when it is, and why there is another one. */
static void
say_backoff(const struct facts *f, struct decision *d, const char *reason)
{
	struct backoff b = backoff(f);
	const struct cond *why = conds_find(&b.last->conds, COND_FAILURE);
	char message[DECISION_TEXT_SIZE], when[TIME_TEXT_SIZE];

	(void)snprintf(message, sizeof(message),
		       "The next try is at %s. It is attempt %u%s: the one "
		       "before, %s, has failed (%s). %s",
		       time_text(b.until_us, when), b.failures + 1,
		       b.failures >= GC_KEPT ? " or a later one" : "",
		       b.last->meta.name,
		       why == NULL ? "nobody said why" : why->reason,
		       why == NULL ? "" : why->message);
	if (waits_set(f, d, reason, message))
		decision_emit(d, true, EVENT_BACKOFF,
			      "backoff migrating vmi %s/%s", f->vmi->meta.ns,
			      f->vmi->meta.name);
	decision_again(d, b.until_us);
}

static bool
has_utility_volumes(const struct facts *f)
{
	return f->vmi->utility_volumes;
}

static void
say_utility_volumes(const struct facts *f, struct decision *d,
		    const char *reason)
{
	const char *message = "Utility volumes are attached to the machine. "
			      "It goes on when they are detached.";

	if (decision_set_cond(d, f, COND_UTILITY_VOLUMES,
			      REASON_UTILITY_VOLUMES, "%s", message))
		decision_emit(d, false, EVENT_UTILITY_PENDING,
			      "Migration is waiting for utility volumes to "
			      "detach");
	(void)waits_set(f, d, reason, message);
	decision_again(d, facts_utility_due_us(f));
}

static bool
has_backup(const struct facts *f)
{
	return f->vmi->backup_in_progress;
}

static void
say_backup(const struct facts *f, struct decision *d, const char *reason)
{
	const char *message = "A backup of the machine is in progress. It goes "
			      "on when that has ended.";

	(void)decision_set_cond(d, f, COND_BACKUP, REASON_BACKUP, "%s",
				message);
	(void)waits_set(f, d, reason, message);
	retry(f, d);
}

static bool
machine_not_running(const struct facts *f)
{
	return f->vmi->phase != VMI_RUNNING ||
	       objmeta_is_deleting(&f->vmi->meta);
}

static void
say_machine(const struct facts *f, struct decision *d, const char *reason)
{
	(void)waits_set(f, d, reason,
			objmeta_is_deleting(&f->vmi->meta)
				? "The machine is being deleted."
				: "The machine is not running. It goes on when "
				  "its phase is Running.");
}

/* One that has ended is no place to move from, whatever the machine still says:
 * it may even be in the target already. */
static bool
no_source_pod(const struct facts *f)
{
	return f->source_pod == NULL || pod_is_down(f->source_pod);
}

static void
say_source_pod(const struct facts *f, struct decision *d, const char *reason)
{
	(void)waits_set(f, d, reason,
			f->source_pod == NULL
				? "The pod that the machine runs in is not "
				  "there. It goes on when it is."
				: "The pod that the machine runs in has ended. "
				  "It goes on when the machine runs in "
				  "another, and ends when it says that it "
				  "has.");
	retry(f, d);
}

static bool
too_many_pods(const struct facts *f)
{
	return f->live_pods > 1;
}

static void
say_pods(const struct facts *f, struct decision *d, const char *reason)
{
	(void)waits_set(f, d, reason,
			"More than one pod of the machine is alive. It goes "
			"on when only the one that it runs in is.");
	decision_again(d, f->now_us + TIME_US_PER_SECOND);
}

static bool
has_other(const struct facts *f)
{
	return facts_has_rival(f);
}

static void
say_other(const struct facts *f, struct decision *d, const char *reason)
{
	(void)waits_set(f, d, reason,
			"Another migration of the machine is not over. It "
			"goes on when that has ended.");
	retry(f, d);
}

static bool
cluster_full(const struct facts *f)
{
	return f->slot == SLOT_CLUSTER_FULL;
}

static void
say_cluster(const struct facts *f, struct decision *d, const char *reason)
{
	char message[256];

	(void)snprintf(message, sizeof(message),
		       "The limit of %" PRIu32 " migrations in the cluster "
		       "(parallelMigrationsPerCluster) is reached. It goes on "
		       "when one of them ends.",
		       f->config->migrations.parallel_cluster);
	(void)waits_set(f, d, reason, message);
	d->wants = SLOT_CLUSTER_FULL;
}

static bool
source_full(const struct facts *f)
{
	return f->slot == SLOT_SOURCE_FULL;
}

static void
say_source(const struct facts *f, struct decision *d, const char *reason)
{
	char message[512];

	(void)snprintf(message, sizeof(message),
		       "The limit of %" PRIu32
		       " migrations away from node '%s' "
		       "(parallelOutboundMigrationsPerNode) is reached. It "
		       "goes on when one of them ends.",
		       f->config->migrations.parallel_outbound, f->vmi->node);
	(void)waits_set(f, d, reason, message);
	d->wants = SLOT_SOURCE_FULL;
}

static bool
over_quota(const struct facts *f)
{
	return f->quota_text != NULL;
}

static void
say_quota(const struct facts *f, struct decision *d, const char *reason)
{
	char message[512];

	(void)snprintf(message, sizeof(message),
		       "A quota does not allow the target pod: %s. It goes on "
		       "when the quota is raised or something else ends.",
		       f->quota_text);
	(void)decision_set_cond(d, f, COND_QUOTA, reason, "%s", f->quota_text);
	decision_again(d, f->quota_until_us);
	(void)waits_set(f, d, reason, message);
}

static bool
is_refused(const struct facts *f)
{
	return f->refused_text != NULL;
}

/* Without the time, so that it is not written for each try. */
static void
say_refused(const struct facts *f, struct decision *d, const char *reason)
{
	char message[DECISION_TEXT_SIZE];

	(void)snprintf(message, sizeof(message),
		       "The target pod was refused: %s. It is tried again, "
		       "and goes on when what refuses it allows it.",
		       f->refused_text);
	(void)waits_set(f, d, reason, message);
	decision_again(d, f->refused_until_us);
}

static bool
target_unready(const struct facts *f)
{
	return f->target_pod == NULL || !f->target_pod->ready;
}

static void
say_unready(const struct facts *f, struct decision *d, const char *reason)
{
	(void)waits_set(f, d, reason,
			"The target pod is not ready. It goes on when its "
			"containers run.");
}

static bool
target_full(const struct facts *f)
{
	return f->inbound == SLOT_TARGET_FULL;
}

static void
say_target(const struct facts *f, struct decision *d, const char *reason)
{
	char message[512];

	(void)snprintf(message, sizeof(message),
		       "The limit of %" PRIu32 " migrations to node '%s' "
		       "(" ANNOTATION_INBOUND_LIMIT ") is reached. It goes on "
		       "when one of them ends.",
		       f->config->parallel_inbound, f->target_pod->node);
	(void)waits_set(f, d, reason, message);
	d->wants = SLOT_TARGET_FULL;
}

struct wait {
	bool (*when)(const struct facts *f);
	const char *reason;
	void (*say)(const struct facts *f, struct decision *d,
		    const char *reason);
};

/* In the order in which they are looked at, which is KubeVirt's. */
static const struct wait before_pod[] = {
	{ in_backoff, WAITING_BACKOFF, say_backoff },
	{ has_utility_volumes, WAITING_UTILITY_VOLUMES, say_utility_volumes },
	{ has_backup, WAITING_BACKUP, say_backup },
	{ has_other, WAITING_OTHER, say_other },
	{ machine_not_running, WAITING_MACHINE, say_machine },
	{ no_source_pod, WAITING_SOURCE_POD, say_source_pod },
	{ too_many_pods, WAITING_PODS, say_pods },
	{ cluster_full, WAITING_CLUSTER_SLOT, say_cluster },
	{ source_full, WAITING_SOURCE_SLOT, say_source },
	{ over_quota, WAITING_QUOTA, say_quota },
	{ is_refused, WAITING_REFUSED, say_refused },
};

static const struct wait before_handoff[] = {
	{ has_other, WAITING_OTHER, say_other },
	{ machine_not_running, WAITING_MACHINE, say_machine },
	{ no_source_pod, WAITING_SOURCE_POD, say_source_pod },
	{ target_unready, WAITING_POD_START, say_unready },
	{ target_full, WAITING_TARGET_SLOT, say_target },
};

static bool
wait_for(const struct wait *waits, size_t count, const struct facts *facts,
	 struct decision *d)
{
	for (size_t i = 0; i < count; i++) {
		if (!waits[i].when(facts))
			continue;
		waits[i].say(facts, d, waits[i].reason);
		return true;
	}
	return false;
}

bool
waits_before_pod(const struct facts *facts, struct decision *d)
{
	return wait_for(before_pod, ARRAY_LEN(before_pod), facts, d);
}

bool
waits_before_handoff(const struct facts *facts, struct decision *d)
{
	return wait_for(before_handoff, ARRAY_LEN(before_handoff), facts, d);
}
