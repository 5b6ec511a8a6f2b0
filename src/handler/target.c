/* SPDX-License-Identifier: Apache-2.0 */
/* The node that receives a machine. It owns the end of the migration. */
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/jsat.h"
#include "base/str.h"
#include "handler/decide.h"
#include "handler/skew.h"
#include "kube/conditions.h"
#include "kube/obj.h"

static const struct migration_state *
state_of(const struct facts *f)
{
	return f->vmi->migration;
}

/* The machine has been seen here: it is this node's to lose. */
static bool
has_arrived(const struct facts *f)
{
	const struct launch_record *r = facts_record(f, LAUNCH_TARGET);

	return r != NULL && r->completed && !r->failed;
}

/*
 * Given up, or done: the listener goes, then a launcher that waits in vain,
 * then the label, by which this side is over.
 */
static bool
target_over(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_TARGET);

	if (!facts_is_over(f))
		return false;
	if (f->target.uid[0] != '\0') {
		decide_stop(f, d, STEP_STOP_TARGET);
		return true;
	}
	if (state_of(f)->failed && f->link == LINK_READY &&
	    !facts_has_domain(f) && r != NULL) {
		d->step = STEP_CLEANUP;
		return true;
	}
	wish_tag(&d->wishes, "labels", LABEL_MIGRATION_TARGET_NODE, NULL);
	return true;
}

/* A pod that is not seen at all may be one that is not seen yet; the controller
 * knows which. */
static bool
target_pod_down(const struct facts *f, struct decision *d)
{
	if (f->pod == NULL || !pod_is_down(f->pod))
		return false;
	decide_failure(f, d, "TargetPodEnded", "Target pod is down");
	return true;
}

/* One that has begun may be here: to fail it would be to lose it. */
static bool
target_refused(const struct facts *f, struct decision *d)
{
	if (f->link != LINK_REFUSED || state_of(f)->start_us != 0)
		return false;
	decide_failure(f, d, "VersionSkew", f->link_text);
	return true;
}

static bool
target_waits(const struct facts *f, struct decision *d)
{
	if (f->link == LINK_READY)
		return false;
	decision_again(d, f->now_us + DECIDE_RETRY_US);
	return true;
}

/* The machine would be sent, and not be taken. */
static bool
target_skewed(const struct facts *f, struct decision *d)
{
	const struct skew_side here = { f->node, f->versions };
	char why[DECISION_TEXT_SIZE];

	if (state_of(f)->start_us != 0 ||
	    !skew_found_in(
		    obj_annotation(f->object, ANNOTATION_LAUNCHER_VERSIONS),
		    state_of(f)->source_node, &here, why, sizeof(why)))
		return false;
	decide_failure(f, d, "VersionSkew", why);
	return true;
}

/* Not begun and not to begin: the controller ends it. */
static bool
target_canceled(const struct facts *f, struct decision *d)
{
	(void)d;
	return state_of(f)->abort_requested && state_of(f)->start_us == 0;
}

static bool
target_network(const struct facts *f, struct decision *d)
{
	if (f->interfaces != NULL)
		return false;
	d->step = STEP_NETWORK;
	return true;
}

static bool
target_prepares(const struct facts *f, struct decision *d)
{
	if (facts_record(f, LAUNCH_TARGET) != NULL)
		return false;
	d->step = STEP_PREPARE;
	return true;
}

static bool
target_listens(const struct facts *f, struct decision *d)
{
	if (str_equal(f->target.uid, state_of(f)->uid))
		return false;
	if (has_arrived(f))
		return false;
	/* One that has begun goes on, or fails by itself. */
	if (!f->proxy_up && state_of(f)->start_us != 0)
		return false;
	if (decide_needs_proxy(f, d))
		return true;
	d->step = STEP_LISTEN_TARGET;
	decision_emit(d, false, "PreparingTarget",
		      "VirtualMachineInstance Migration Target Prepared.");
	return true;
}

/* The source has sent all of it: whatever is seen of it here, its end is on the
 * way. Of one that has ended before that nothing more can come. */
static bool
was_all_sent(const struct facts *f)
{
	const int64_t all_percent = 100;

	return js_int_at(f->object, "status.migrationState.progress.percent",
			 0) >= all_percent;
}

/*
 * When the target gives up: from then on nobody can send what is missing. The
 * source has given the machine away, or has ended with it, and nothing has come
 * here; or half of it has, and the other half is lost, which libvirt here knows
 * (stalled) or should by now.
 */
static int64_t
missed_us(const struct facts *f)
{
	const struct launch_record *r = facts_record(f, LAUNCH_TARGET);
	int64_t left_us = state_of(f)->end_us;
	bool stalled = r->reason == LAUNCH_REASON_POST_COPY_FAILED;
	/* One that is only expected is not here. */
	bool here = facts_has_domain(f) && f->status->state != LAUNCH_STARTING;

	if (left_us == 0 || r->completed)
		return DECISION_NEVER;
	if (!here)
		return left_us + DECIDE_ARRIVAL_US;
	if (stalled && !was_all_sent(f))
		return left_us + DECIDE_HALF_US;
	if (stalled || (r->mode == LAUNCH_POST_COPY && !was_all_sent(f)))
		return left_us + DECIDE_ARRIVAL_US;
	return DECISION_NEVER;
}

static bool
target_missed(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_TARGET);
	int64_t due_us = missed_us(f);

	decision_again(d, due_us);
	if (f->now_us < due_us)
		return false;
	if (r->mode == LAUNCH_POST_COPY) {
		decide_failure(
			f, d,
			launch_reason_name(LAUNCH_REASON_POST_COPY_FAILED),
			"the source of the machine ended in post-copy, before "
			"all of it was on the target");
	} else {
		decide_failure(f, d,
			       launch_reason_name(LAUNCH_REASON_NEVER_ARRIVED),
			       "the machine was handed over, and its domain "
			       "was never observed on the target node");
	}
	return true;
}

static void
emit_listening(const struct facts *f, struct decision *d)
{
	char text[256] = "";
	const char *port;
	json_t *channel;
	size_t len = 0;

	json_object_foreach((json_t *)(uintptr_t)f->target.ports, port, channel)
	{
		int n = snprintf(text + len, sizeof(text) - len, "%s%s",
				 len > 0 ? "," : "", port);

		if (n < 0 || (size_t)n >= sizeof(text) - len)
			break;
		len += (size_t)n;
	}
	decision_emit(d, false, "PreparingTarget",
		      "Migration Target is listening at %s, on ports: %s",
		      f->target.address, text);
}

static void
tell_listener(const struct facts *f, struct decision *d)
{
	struct wishes *w = &d->wishes;

	wish_text(w, MEMBER_STATE "targetNodeAddress", f->target.address);
	wish_set(w, MEMBER_STATE "targetDirectMigrationNodePorts",
		 json_deep_copy(f->target.ports));
	if (!str_equal(state_of(f)->target_address, f->target.address))
		emit_listening(f, d);
}

/* What the target says of itself as it goes: where it listens, what it has
 * seen of the machine. */
static bool
target_tells(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_TARGET);
	struct wishes *w = &d->wishes;

	if (has_arrived(f) || (r->completed && r->failed))
		return false;
	decide_waits_no_more(f, d);
	if (f->proxy_up) {
		tell_listener(f, d);
		/* With it, where: the source comes at once. */
		if (r->watched)
			wish_set(w, MEMBER_STATE "targetListensAfterBreaks",
				 json_integer((json_int_t)r->listening));
	}
	if (r->domain_detected)
		wish_set(w, MEMBER_STATE "targetNodeDomainDetected",
			 json_true());
	if (r->domain_ready_us != 0)
		wish_time(w, MEMBER_STATE "targetNodeDomainReadyTimestamp",
			  r->domain_ready_us);
	return true;
}

/* A source that still has the machine says itself why it failed; this is for
 * when it does not, or does not know. */
static bool
target_fails(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_TARGET);

	if (!r->completed || !r->failed)
		return false;
	if (state_of(f)->end_us == 0 &&
	    f->now_us < r->end_us + DECIDE_BLAME_US) {
		decision_again(d, r->end_us + DECIDE_BLAME_US);
		return true;
	}
	/* Nobody may have been told yet that it has run here, and the source
	 * must not take it back then. */
	if (r->domain_ready_us != 0)
		wish_time(&d->wishes,
			  MEMBER_STATE "targetNodeDomainReadyTimestamp",
			  r->domain_ready_us);
	decide_failure(f, d, launch_reason_name(r->reason), r->message);
	return true;
}

/* The source may not write any more when it learns how it ended; how long the
 * guest stood still is known here as well. */
static void
tell_downtime(const struct facts *f, const struct launch_record *r,
	      struct decision *d)
{
	if (r->progress.downtime_ms == 0 ||
	    js_obj_at(f->object, "status.migrationState.progress") == NULL)
		return;
	wish_set(&d->wishes, MEMBER_STATE "progress/downtimeMs",
		 json_integer((json_int_t)r->progress.downtime_ms));
	/* Of the switch to post-copy libvirt has seen half at most. */
	if (r->progress.blackout_ms != 0 && r->mode != LAUNCH_POST_COPY &&
	    state_of(f)->mode != MODE_POST_COPY)
		wish_set(&d->wishes, MEMBER_STATE "progress/blackoutMs",
			 json_integer((json_int_t)r->progress.blackout_ms));
	wish_set(&d->wishes, MEMBER_STATE "progress/percent",
		 json_integer(100));
	wish_set(&d->wishes, MEMBER_STATE "progress/bytesRemaining",
		 json_integer(0));
}

#define MEMBER_IMAGE "/status/launcherContainerImageVersion"

/*
 * The pod that the machine is in now. The one that it has left is on its way
 * out; with this the controller has nothing to add to the machine.
 */
static void
tell_pod(const struct facts *f, struct decision *d)
{
	if (f->pod == NULL || f->pod->compute_image[0] == '\0') {
		wish_gone(&d->wishes, MEMBER_IMAGE);
		return;
	}
	wish_text(&d->wishes, MEMBER_IMAGE, f->pod->compute_image);
	wish_set(&d->wishes, "/status/activePods",
		 json_pack("{s:s}", f->pod->meta.uid, f->node));
}

/* The machine is here: from now on it is this node's. */
static bool
target_takes(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_TARGET);
	struct wishes *w = &d->wishes;

	if (facts_is_owner(f))
		return false;
	/* Not when somebody gives it up at the same moment. */
	w->exact = true;
	wish_set(w, MEMBER_STATE "targetNodeDomainDetected", json_true());
	wish_time(w, MEMBER_STATE "targetNodeDomainReadyTimestamp",
		  r->domain_ready_us != 0 ? r->domain_ready_us : r->end_us);
	wish_time(w, MEMBER_STATE "endTimestamp", r->end_us);
	tell_downtime(f, r, d);
	wish_text(w, "/status/nodeName", f->node);
	wish_tag(w, "labels", LABEL_NODE, f->node);
	wish_tag(w, "labels", LABEL_OUTDATED_IMAGE, NULL);
	wish_tag(w, "annotations", ANNOTATION_EVICTION_SOURCE, NULL);
	wish_gone(w, "/status/evacuationNodeName");
	tell_pod(f, d);
	wish_text(w, "/status/migrationTransport", "Unix");
	decide_condition(f, d,
			 &(struct condition){
				 .type = COND_MIGRATION_REQUIRED,
			 });
	decision_emit(d, false, "Migrated",
		      "The VirtualMachineInstance migrated to node %s.",
		      f->node);
	return true;
}

static bool
target_finalizes(const struct facts *f, struct decision *d)
{
	if (str_equal(f->finalized, state_of(f)->uid))
		return false;
	d->step = STEP_FINALIZE;
	return true;
}

static bool
target_completes(const struct facts *f, struct decision *d)
{
	(void)f;
	wish_set(&d->wishes, MEMBER_STATE "completed", json_true());
	return true;
}

static const struct decide_rule target_rules[] = {
	{ "target-over", target_over },
	{ "target-pod-down", target_pod_down },
	{ "target-refused", target_refused },
	{ "target-waits", target_waits },
	{ "target-skewed", target_skewed },
	{ "target-canceled", target_canceled },
	{ "target-network", target_network },
	{ "target-prepares", target_prepares },
	{ "target-listens", target_listens },
	{ "target-missed", target_missed },
	{ "target-tells", target_tells },
	{ "target-fails", target_fails },
	{ "target-takes", target_takes },
	{ "target-finalizes", target_finalizes },
	{ "target-completes", target_completes },
};

bool
decide_target(const struct facts *f, struct decision *d)
{
	return decide_by(target_rules, ARRAY_LEN(target_rules), f, d);
}
