/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_RENDER_VMIPATCH_H
#define CONTROLLER_RENDER_VMIPATCH_H

/*
 * vmipatch - what the controller writes to an instance during a migration.
 *
 * JSON patches (RFC 6902). Each begins with a test of what it depends on, so
 * that it changes nothing when something else came first: the server answers
 * with an error, and the next look at the instance decides again. A test for
 * null holds for what is missing, as in Kubernetes.
 *
 * All return a new array. Threading: as render.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

/* All is borrowed. */
struct handoff {
	/* The instance as it was seen; NULL for what it has not. */
	const json_t *state; /* status.migrationState */
	const json_t *labels;
	const json_t *active_pods; /* status.activePods */
	/* The migration, and whence to where. */
	const char *migration_uid;
	const char *source_node, *source_pod;
	const char *target_node, *target_pod;
	const char *target_pod_uid;
	/* Resolved now, and for good. */
	const char *policy_name;     /* "" for none */
	const json_t *configuration; /* migration_config_json()'s */
	/* Of the target pod; 0: not said. */
	uint64_t memory_overhead_bytes;
	/* Of the target pod, for machines that got more of either while they
	 * ran; NULL otherwise. */
	const char *cpu_limits, *memory_requests;
};

/*
 * Hands the instance to the nodes: a new migrationState in place of the one
 * that was seen, the label by which the target node finds it, and the target
 * pod among its own. Depends on the first two being as they were seen: who
 * comes second sees a conflict.
 */
json_t *vmipatch_handoff(const struct handoff *handoff);

/* Asks the source node to give up. Depends on the migration being the current
 * one, and on nothing that the nodes write while they work. */
json_t *vmipatch_abort(const char *migration_uid);

/*
 * Says that the source has ended with the machine, where that node cannot: its
 * pod is gone. Depends on the machine being as it was seen, in this version.
 * now is a time as the API writes it.
 */
json_t *vmipatch_left(const char *migration_uid, const char *version,
		      const char *now);

/*
 * Says that the migration has failed, where no node could. Depends on the
 * machine being as it was seen: it may arrive at this very moment. now is a
 * time as the API writes it; start and end say whether the state has these
 * times already, and it keeps them then.
 */
struct failure {
	const char *migration_uid;
	const char *version; /* of the machine */
	const char *reason;
	const char *now;
	bool has_start, has_end;
};

json_t *vmipatch_fail(const struct failure *failure);

/* Marks the instance to leave its node; depends on it being unmarked. */
json_t *vmipatch_evacuate(const char *node);
/* Takes the mark for this node away again. */
json_t *vmipatch_evacuate_cancel(const char *node);

#endif
