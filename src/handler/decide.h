/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_DECIDE_H
#define HANDLER_DECIDE_H

/*
 * decide - what this node does about a machine follows from what is known.
 *
 * Pure: asks nobody, remembers nothing, has no clock. A handler that was
 * killed at any moment goes on from what launcher, ferry-proxy and the object
 * say. docs/node.md has the tables in prose.
 *
 * A machine has up to three sides on a node, looked at in this order; the
 * first whose rules find something to do decides.
 *
 *	target	it is received here			target.c
 *	source	it leaves from here			source.c
 *	owner	it runs here, or is to			owner.c
 *	rest	none of these, but there is a pod	decide.c
 */

#include "handler/decision.h"
#include "handler/facts.h"

/* The caller frees it with decision_done(). */
void decide(const struct facts *facts, struct decision *ret_decision);

/* A rule of one side: true when it has decided, and no later one is asked. */
struct decide_rule {
	const char *name;
	bool (*rule)(const struct facts *f, struct decision *d);
};

bool decide_by(const struct decide_rule *rules, size_t count,
	       const struct facts *f, struct decision *d);

bool decide_target(const struct facts *f, struct decision *d);
bool decide_source(const struct facts *f, struct decision *d);
bool decide_owner(const struct facts *f, struct decision *d);

/* How often what is waited for without being told is looked at. */
#define DECIDE_RETRY_US INT64_C(1000000)
/* How often a guest is asked to shut down. */
#define DECIDE_SHUTDOWN_US (INT64_C(5) * 1000000)
/* How often the network of a machine is looked at, though nobody says that
 * anything is wrong with it. */
#define DECIDE_MEND_US (INT64_C(30) * 1000000)
/* How long the machine may need to be seen on the target, once the source has
 * given it away. */
#define DECIDE_ARRIVAL_US (INT64_C(60) * 1000000)

/* How long the target keeps its half of a machine, where it is known on both
 * nodes that there is no other half any more: for news that are on the way. */
#define DECIDE_HALF_US (INT64_C(10) * 1000000)

/* How long the target waits for the source to say why a migration failed. */
#define DECIDE_BLAME_US (INT64_C(10) * 1000000)

/* Members of the machine's object. */
#define MEMBER_STATE "/status/migrationState/"
#define MEMBER_PHASE "/status/phase"
#define MEMBER_CONDITIONS "/status/conditions"

/*
 * Stops a listener. After a migration that did not fail the libvirts of both
 * nodes still say goodbye to each other through it: to cut that would make the
 * source believe that the machine has not arrived, and run it on.
 */
void decide_stop(const struct facts *f, struct decision *d, enum step step);

/* States a condition of the machine, or that it is not to be there (status is
 * NULL), together with all that were stated before in this decision. */
struct condition;
void decide_condition(const struct facts *f, struct decision *d,
		      const struct condition *condition);

/*
 * Nothing can be sent or received without the node's ferry-proxy: waits for it,
 * and says so on the machine, in a member of this side's own. True while it
 * does not answer.
 */
bool decide_needs_proxy(const struct facts *f, struct decision *d);
/* It waits for nothing of this node any more. */
void decide_waits_no_more(const struct facts *f, struct decision *d);

/* The end of a migration by a failure: failed, completed, when and why. The
 * code is a word for programs. */
void decide_failure(const struct facts *f, struct decision *d, const char *code,
		    const char *text);

#endif
