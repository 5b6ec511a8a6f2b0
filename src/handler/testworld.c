/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/testworld.h"

#include <stdio.h>

#include "base/jsat.h"
#include "base/str.h"

struct place places[NODES];
json_t *live;
int64_t now_us;
bool lost;
bool shares;
bool there;
bool watched;
unsigned long long seed;
unsigned run;
unsigned post_copies, unconfirmed, mended;

unsigned
dice(unsigned sides)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % sides;
}

struct launch_record *
record_of(int i, enum launch_role role)
{
	struct launch_record *r = places[i].node.status.migration;

	return r != NULL && r->role == role ? r : NULL;
}

bool
is_alive(int i)
{
	return places[i].node.facts.pod != NULL &&
	       !pod_is_down(&places[i].node.pod);
}

bool
runs_on(int i)
{
	enum launch_state state = places[i].node.status.state;

	return is_alive(i) &&
	       (state == LAUNCH_RUNNING || state == LAUNCH_PAUSED);
}

bool
is_held(void)
{
	const struct launch_record *from = record_of(A, LAUNCH_SOURCE);

	return is_alive(A) && from != NULL && !from->completed &&
	       from->reason == LAUNCH_REASON_UNCONFIRMED;
}

bool
is_stalled(void)
{
	const struct launch_record *from = record_of(A, LAUNCH_SOURCE);

	return is_alive(A) && from != NULL && !from->completed &&
	       from->reason == LAUNCH_REASON_POST_COPY_FAILED;
}

bool
state_bool(const char *name)
{
	return js_bool_at(js_obj_at(live, "status.migrationState"), name,
			  false);
}

bool
state_has(const char *name)
{
	return js_at(js_obj_at(live, "status.migrationState"), name) != NULL;
}

bool
is_over(void)
{
	return state_bool("completed") || state_bool("failed");
}

int
home(void)
{
	return str_equal(js_str_at(live, "status.nodeName"), "a") ? A : B;
}

void
store(json_t *object)
{
	static unsigned version = 1;
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", ++version);
	json_decref(live);
	live = object;
	testfacts_set(live, "metadata", "resourceVersion", json_string(text));
}

void
set_state(const char *name, json_t *value)
{
	json_t *object = json_deep_copy(live);

	testfacts_set(object, "status.migrationState", name, value);
	store(object);
}

/* Launchers and what is between them. */

void
end_record(struct launch_record *r, enum launch_reason reason)
{
	r->completed = true;
	r->failed = reason != LAUNCH_REASON_NONE;
	r->reason = reason;
	r->end_us = now_us;
	if (r->abort == LAUNCH_ABORTING)
		r->abort = r->failed ? LAUNCH_ABORT_SUCCEEDED
				     : LAUNCH_ABORT_FAILED;
}

void
set_domain(int i, enum launch_state state, enum launch_cause cause)
{
	places[i].node.status.state = state;
	places[i].node.status.cause = cause;
}

void
pod_ends(int i)
{
	struct testnode *n = &places[i].node;

	n->pod.phase = POD_SUCCEEDED;
	n->facts.link = LINK_NONE;
	n->facts.status = NULL;
}

/* The source cannot reach the target, or is told to stop, before the guest
 * runs there. */
static void
transfer_breaks(enum launch_reason reason)
{
	struct launch_record *from = record_of(A, LAUNCH_SOURCE);
	struct launch_record *to = record_of(B, LAUNCH_TARGET);

	if (is_alive(A) && from != NULL && !from->completed && !is_held()) {
		end_record(from, reason);
		set_domain(A, LAUNCH_RUNNING, LAUNCH_CAUSE_OTHER);
	}
	if (is_alive(B) && to != NULL && to->domain_detected &&
	    !to->completed) {
		end_record(to, LAUNCH_REASON_NEVER_ARRIVED);
		set_domain(B, LAUNCH_NO_DOMAIN, LAUNCH_CAUSE_NONE);
	}
}

static void
transfer_stalls(void)
{
	struct launch_record *from = record_of(A, LAUNCH_SOURCE);
	struct launch_record *to = record_of(B, LAUNCH_TARGET);

	if (is_alive(A)) {
		from->reason = LAUNCH_REASON_POST_COPY_FAILED;
		if (from->end_us == 0)
			from->end_us = now_us;
		from->breaks += watched;
		set_domain(A, LAUNCH_PAUSED, LAUNCH_CAUSE_POST_COPY_FAILED);
	}
	if (is_alive(B)) {
		to->breaks += watched;
		to->reason = LAUNCH_REASON_POST_COPY_FAILED;
		set_domain(B, LAUNCH_PAUSED, LAUNCH_CAUSE_POST_COPY_FAILED);
	}
}

static void
guest_arrives(struct launch_record *from, struct launch_record *to)
{
	end_record(from, LAUNCH_REASON_NONE);
	set_domain(A, LAUNCH_STOPPED, LAUNCH_CAUSE_MIGRATED);
	if (to->domain_ready_us == 0)
		to->domain_ready_us = now_us;
	end_record(to, LAUNCH_REASON_NONE);
	set_domain(B, LAUNCH_RUNNING, LAUNCH_CAUSE_MIGRATED);
	there = true;
}

/* The target's word is lost: it has the machine, or not. */
static void
answer_is_lost(struct launch_record *from, struct launch_record *to)
{
	unconfirmed++;
	if (dice(2) == 0) {
		guest_arrives(from, to);
	} else {
		end_record(to, LAUNCH_REASON_NEVER_ARRIVED);
		set_domain(B, LAUNCH_NO_DOMAIN, LAUNCH_CAUSE_NONE);
	}
	from->completed = from->failed = false;
	from->reason = LAUNCH_REASON_UNCONFIRMED;
	from->abort = LAUNCH_ABORT_NONE;
	from->cut_streams = false;
	from->end_us = now_us;
	set_domain(A, LAUNCH_PAUSED, LAUNCH_CAUSE_USER);
}

void
transfer(void)
{
	struct launch_record *from = record_of(A, LAUNCH_SOURCE);
	struct launch_record *to = record_of(B, LAUNCH_TARGET);
	bool way = places[A].listens[0] && places[B].listens[1];
	bool post;

	if (from == NULL || from->completed || !is_alive(A))
		return;
	post = from->mode == LAUNCH_POST_COPY;
	if (from->reason == LAUNCH_REASON_POST_COPY_FAILED || is_held()) {
		/* By its launcher, when it comes to it. */
		if (to != NULL && is_alive(B) && dice(2) == 0)
			to->listening = to->breaks;
		return;
	}
	if (!way || to == NULL || !is_alive(B)) {
		if (post)
			transfer_stalls();
		else
			transfer_breaks(LAUNCH_REASON_CONNECTION_LOST);
	} else if (from->abort == LAUNCH_ABORTING && !post) {
		if (dice(4) == 0)
			from->cut_streams = true;
		else
			transfer_breaks(LAUNCH_REASON_CANCELED);
	} else if (post && dice(6) > 0) {
		return; /* the rest is on its way */
	} else if (!to->domain_detected) {
		to->domain_detected = true;
		set_domain(B, LAUNCH_STARTING, LAUNCH_CAUSE_MIGRATING);
	} else if (!post && dice(4) == 0) {
		post_copies++;
		from->mode = to->mode = LAUNCH_POST_COPY;
		to->domain_ready_us = now_us;
		set_domain(A, LAUNCH_PAUSED, LAUNCH_CAUSE_POST_COPY);
		set_domain(B, LAUNCH_RUNNING, LAUNCH_CAUSE_POST_COPY);
	} else if (!post && dice(3) == 0) {
		answer_is_lost(from, to);
	} else {
		guest_arrives(from, to);
	}
}

bool
is_in_halves(void)
{
	const struct launch_record *from = record_of(A, LAUNCH_SOURCE);

	return from != NULL && !from->completed &&
	       from->mode == LAUNCH_POST_COPY;
}

void
launcher_dies(int i)
{
	bool halves = is_in_halves();

	/* Half a machine is none. */
	lost |= runs_on(i);
	/* The other side does not always notice. */
	if (!halves && (i == B || dice(2) == 0))
		transfer_breaks(LAUNCH_REASON_CONNECTION_LOST);
	pod_ends(i);
	places[i].node.pod.phase = POD_FAILED;
	set_domain(i, LAUNCH_NO_DOMAIN, LAUNCH_CAUSE_NONE);
	if (halves)
		transfer_stalls();
}
