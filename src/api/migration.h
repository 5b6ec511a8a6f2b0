/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_MIGRATION_H
#define API_MIGRATION_H

/*
 * migration - what migrations and machines say about a transfer: phases, and
 * the state that controller and nodes hand to each other on the machine.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct err;

/* In the order in which a migration goes through them. */
enum migration_phase {
	MIGRATION_UNSET,
	MIGRATION_WAITING_FOR_SYNC, /* the receiving half of a decentralized */
	MIGRATION_SYNCHRONIZING,    /* its sending half */
	MIGRATION_PENDING,
	MIGRATION_SCHEDULING,
	MIGRATION_SCHEDULED,
	MIGRATION_PREPARING_TARGET,
	MIGRATION_TARGET_READY,
	MIGRATION_RUNNING,
	MIGRATION_SUCCEEDED,
	MIGRATION_FAILED,
	MIGRATION_PHASE_COUNT,
};

/* "", "Pending", ... */
const char *migration_phase_name(enum migration_phase phase);
int migration_phase_parse(const char *text, enum migration_phase *ret_phase,
			  struct err *err);
bool migration_phase_is_final(enum migration_phase phase);
/* The machine has been handed to the nodes: PreparingTarget and what follows,
 * the final ones not. */
bool migration_phase_is_handed_off(enum migration_phase phase);
/* Counts as running by its phase alone: has a pod, and so a slot. A Pending one
 * that has its target pod holds a slot too; that is for the caller to know. */
bool migration_phase_is_running(enum migration_phase phase);

enum migration_priority {
	PRIORITY_UNSET,
	PRIORITY_SYSTEM_MAINTENANCE,
	PRIORITY_USER_TRIGGERED,
	PRIORITY_SYSTEM_CRITICAL,
	PRIORITY_COUNT,
};

/* "" for unset. Unknown texts are PRIORITY_UNSET. */
const char *migration_priority_name(enum migration_priority priority);
enum migration_priority migration_priority_parse(const char *text);

enum abort_status {
	ABORT_NONE,
	ABORT_ABORTING,
	ABORT_SUCCEEDED,
	ABORT_FAILED,
	ABORT_STATUS_COUNT,
};

enum migration_mode {
	MODE_NONE,
	MODE_PRE_COPY,
	MODE_POST_COPY,
	MODE_PAUSED,
	MIGRATION_MODE_COUNT,
};

#define MIGRATION_PORTS_MAX 16

struct migration_port {
	uint16_t port;    /* TCP, on the target node */
	uint32_t channel; /* 0, 49152 or 49153 */
};

/* status.migrationState of a machine (or the copy of it on a migration). */
struct migration_state {
	/* by the controller, at hand-off */
	char *uid; /* of the migration */
	char *source_node, *source_pod;
	char *target_node, *target_pod;
	char *target_attachment_pod_uid;
	char *policy_name;
	char *source_pvc, *target_pvc; /* persistent state */
	/* by the controller, later */
	bool abort_requested;
	/* by the target node */
	char *target_address;
	struct migration_port *ports;
	size_t port_count;
	bool ports_bad; /* what is said makes no sense: there are none */
	bool domain_detected;
	int64_t domain_ready_us;
	char *target_waits; /* what keeps it from listening; "" */
	/* by the source node */
	char *source_waits; /* what keeps it from starting; "" */
	/* by the source node, or by the target node on success */
	int64_t start_us, end_us;
	bool completed, failed;
	char *failure_reason;
	enum abort_status abort_status;
	enum migration_mode mode;
	/* halves of a decentralized migration */
	char *source_state_uid, *target_state_uid;
	/* The whole object as JSON text: what a patch tests, what is copied to
	 * the migration. */
	char *text;
};

/*
 * Whatever it says: nodes write parts of it, and one that writes nonsense must
 * not make the machine unreadable.
 */
struct migration_state *migration_state_decode(const json_t *obj);
void migration_state_free(struct migration_state *state); /* NULL is fine */
/* {"TCPPORT": CHANNEL}, MIGRATION_PORTS_MAX at most; NULL is fine. */
bool migration_ports_are_good(const json_t *ports);

/* Transfers now: began and has not ended. state may be NULL. */
bool migration_state_is_active(const struct migration_state *state,
			       int64_t now_us);

#endif
