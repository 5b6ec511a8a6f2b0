/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_FACTS_H
#define CONTROLLER_MIGRATION_FACTS_H

/*
 * facts - all that is known about one migration at one moment.
 *
 * Whoever fills it in borrows everything to it for as long as it is used.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/config.h"
#include "api/pod.h"
#include "api/vmi.h"
#include "api/vmim.h"
#include "controller/migration/slots.h"

struct facts {
	int64_t now_us;
	/*
	 * Everything below was read from the server just now. What is read
	 * from a cache may be older, in parts: there the machine may not show
	 * yet what the migration already does. What cannot be undone waits
	 * until this is true; see decision.confirm.
	 */
	bool confirmed;
	const struct kubevirt_config *config;
	const struct vmim *vmim;
	/* The other migrations of the machine, in any order. */
	const struct vmim *const *others;
	size_t other_count;
	const struct vmi *vmi; /* NULL: gone, or no sense in it */
	/* Why there is no sense in it, which is known only where facts are
	 * confirmed; NULL: gone, or there is. */
	const char *machine_text;
	/* Before hand-off the newest pod of the machine on its node, after it
	 * the one that the machine's migration state names; NULL: none. */
	const struct pod *source_pod;
	/* The one that carries the migration's UID; NULL: none. */
	const struct pod *target_pod;
	/* Pods of the machine whose containers have not ended, target_pod not
	 * counted. */
	unsigned live_pods;
	/* Written by this process, and not yet seen coming back. Taken back
	 * when the write turns out to have failed. */
	bool create_sent, handoff_sent;
	/*
	 * This process has let it begin, or another one of the machine, which
	 * has not ended: what was read just now may be older than that by as
	 * long as a write takes.
	 */
	bool begun, other_begun;
	/* What the server said when it refused the pod because of a quota, and
	 * neither a quota has changed nor the time to try again come; NULL. */
	const char *quota_text;
	int64_t quota_until_us; /* that time */
	/* The same for what else refused it, or kept it from being rendered,
	 * and when it is tried again. */
	const char *refused_text;
	int64_t refused_until_us;
	/* slots_ask() for the machine's node, slots_ask_inbound() for the
	 * target pod's. */
	enum slot slot, inbound;
	/* Why its disks do not let it move, as far as that is looked at: while
	 * it has not begun. NULL: they do. */
	const char *disks_text;
	/* The labels that the CPU of the machine needs when no node has them;
	 * NULL when some node has, or the machine does not care. */
	const char *cpu_labels;
};

/* What the migration state of the machine says, if it is of this migration;
 * NULL otherwise. */
const struct migration_state *facts_state(const struct facts *facts);
/* The nodes have the machine in hand, as far as one can know. */
bool facts_is_handed_off(const struct facts *facts);
/* The nodes say that the machine has arrived. */
bool facts_is_done(const struct facts *facts);
/* The machine runs on the target already, or part of it does, or the source has
 * said that it has left: to stop now is to lose it. */
bool facts_is_switched(const struct facts *facts);
/*
 * That, or it may be so: the source has begun to send, and neither node has
 * said that it came to nothing. Nodes can be silent for any time while the
 * guest runs on the target.
 */
bool facts_may_be_switched(const struct facts *facts);
/* Somebody has deleted it: that is how migrations are canceled. */
bool facts_is_canceled(const struct facts *facts);
/* It is to be aborted: canceled, or over the time of a transfer. */
bool facts_is_unwanted(const struct facts *facts);
/* Another migration of the machine goes on, or was there first. */
bool facts_has_rival(const struct facts *facts);
/* The scheduler has put the target pod where the machine is, and that is in
 * another pod: there is nowhere to move to. */
bool facts_is_on_source(const struct facts *facts);
/* The machine may be in the target pod, which must not be deleted then. */
bool facts_needs_target(const struct facts *facts);

/* When a deadline that runs since from_us is over, INT64_MAX for none. */
int64_t facts_due_us(int64_t from_us, int64_t limit_s);
/* When the phase that the migration is stored with is over; INT64_MAX. */
int64_t facts_phase_due_us(const struct facts *facts);
/* The same for the target pod until it is ready, also when its containers run
 * and do not become so. ret_unschedulable tells which of the two deadlines it
 * is. */
int64_t facts_pod_due_us(const struct facts *facts, bool *ret_unschedulable);
/* Volumes that hinder a migration may do so until then. */
int64_t facts_utility_due_us(const struct facts *facts);
/* The nodes are to answer a request to abort until then. Nothing is given up
 * then; it is said. */
int64_t facts_abort_due_us(const struct facts *facts);

#define FACTS_ABORT_ANSWER_S 120

#endif
