/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_DECISION_H
#define CONTROLLER_MIGRATION_DECISION_H

/*
 * decision - what is to be done about one migration.
 *
 * How it is carried out:
 *  1. confirm: read everything again from the server, decide again. Nothing
 *     else is in such a decision.
 *  2. The actions in their order. One that fails ends it; the next decision
 *     sees what came of it. Its event is emitted when it has succeeded, one
 *     with failed_reason and the error's text when it has not.
 *  3. The status, in one write, if decision_changes_status(): phase, a
 *     timestamp now for each of passed[], conditions; the machine's migration
 *     state if copy_state.
 *  4. The events.
 *  5. The finalizer, and the migration itself.
 *  6. After the end: slots_release(). Otherwise again at again_us at the
 *     latest, with the priority and group of rank.h; what waits for a slot is
 *     woken when there is one.
 *
 * Holds no memory of its own; what it points to is of the facts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/conds.h"
#include "api/migration.h"
#include "controller/migration/slots.h"

struct facts;
struct pod;

#define DECISION_ACTIONS_MAX 6
#define DECISION_CONDS_MAX 8
#define DECISION_EVENTS_MAX 4
#define DECISION_TEXT_SIZE 768
#define DECISION_NEVER INT64_MAX

struct decision_event {
	bool on_vmi; /* otherwise on the migration */
	bool warning;
	const char *reason; /* NULL: none */
	char text[DECISION_TEXT_SIZE];
};

/* In the order in which they are carried out. */
enum action_kind {
	/* On the migration: finalizer, label vmi-name, observed versions. */
	ACTION_STAMP,
	/* Take the slot, then render and create the target pod. Its event
	 * names the pod, see ACTION_CREATED_FORMAT. */
	ACTION_CREATE_TARGET,
	/* Take the slot of the target node, resolve the policy, patch the
	 * machine. */
	ACTION_HANDOFF,
	ACTION_TELL_LEFT,  /* patch of the machine: endTimestamp */
	ACTION_ABORT,      /* patch of the machine */
	ACTION_FAIL_STATE, /* the same; text is the failureReason */
	ACTION_MARK_READY, /* annotation target-ready-timestamp on pod */
	ACTION_DELETE_POD,
	ACTION_COUNT,
};

const char *action_name(enum action_kind kind);

struct action {
	enum action_kind kind;
	const struct pod *pod; /* NULL where there is none to name */
	const char *text;      /* "" or see above */
	struct decision_event event;
	const char *failed_reason; /* NULL: no event */
	bool failed_on_vmi;
};

/* "Created migration target pod X" */
#define ACTION_CREATED_FORMAT "Created migration target pod %s"
#define ACTION_CREATE_FAILED_FORMAT "Error creating pod: %s"

struct decision_cond {
	const char *type;
	bool remove; /* otherwise it is to be True */
	const char *reason;
	char message[DECISION_TEXT_SIZE];
	/* lastTransitionTime: since when it is so, for this reason. */
	int64_t since_us;
};

struct decision {
	const char *rule; /* the row that decided, for logs and tests */
	bool confirm;
	enum migration_phase phase; /* the one there is, or the new one */
	/* Phases entered now, in order; the last one is phase. */
	enum migration_phase passed[MIGRATION_PHASE_COUNT];
	size_t passed_count;
	bool copy_state;
	struct action actions[DECISION_ACTIONS_MAX];
	size_t action_count;
	struct decision_cond conds[DECISION_CONDS_MAX]; /* that change */
	size_t cond_count;
	const char *said[DECISION_CONDS_MAX]; /* types that are to be True */
	size_t said_count;
	struct decision_event events[DECISION_EVENTS_MAX];
	size_t event_count;
	bool remove_finalizer;
	bool delete_migration;
	/* What it waits for when that is a slot; SLOT_FREE: nothing. */
	enum slot wants;
	int64_t again_us; /* DECISION_NEVER: when something changes */
};

bool decision_changes_status(const struct decision *decision);
/* NULL when there is none of the kind. */
const struct action *decision_action(const struct decision *decision,
				     enum action_kind kind);

/* For those who decide. */
void decision_enter(struct decision *d, enum migration_phase phase);
struct action *decision_act(struct decision *d, enum action_kind kind);
void decision_emit(struct decision *d, bool on_vmi, const char *reason,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The event of an action, about the migration. */
void action_event(struct action *action, const char *reason, const char *fmt,
		  ...) __attribute__((format(printf, 3, 4)));
/* Nothing when the migration says so already; true when it is news: another
 * reason, or none before. */
bool decision_set_cond(struct decision *d, const struct facts *facts,
		       const char *type, const char *reason, const char *fmt,
		       ...) __attribute__((format(printf, 5, 6)));
/* Nothing when it is not there, or was set just now. */
void decision_drop_cond(struct decision *d, const struct facts *facts,
			const char *type);
/* At due_us at the latest. */
void decision_again(struct decision *d, int64_t due_us);

#endif
