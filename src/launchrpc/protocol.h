/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHRPC_PROTOCOL_H
#define LAUNCHRPC_PROTOCOL_H

/*
 * protocol - what handler and launcher say to each other: methods, their
 * deadlines, names. ferry-launcher-rpc(5) is the manual.
 *
 * The handler calls. It connects, says hello (rpc.h) with "notify":true, then
 * calls `versions`; client.h does both. From then on it may call, and gets a
 * notification `status` with a struct launch_status whenever something has
 * changed, and each LAUNCH_STATUS_MS while a migration runs.
 *
 * Threading: pure functions, any thread.
 */

#include <stdint.h>

/* A launcher lives as long as its machine: after an update the handler meets
 * launchers of all earlier versions. Both name the range they speak. */
#ifndef LAUNCH_PROTOCOL_MIN /* of a launcher that is made for tests */
#define LAUNCH_PROTOCOL_MIN 1U
#define LAUNCH_PROTOCOL_MAX 1U
#endif

#define LAUNCH_STATUS_MS 1000U
#define LAUNCH_MEASURE_MS 15000U /* for `measure`, which takes a second */
#define LAUNCH_NOTIFY_STATUS "status"

/* Limits of what a peer may send; the message has RPC_MESSAGE_MAX. */
#define LAUNCH_INTERFACES_MAX 64U
#define LAUNCH_DISKS_MAX 256U
#define LAUNCH_PARALLEL_MAX 255U        /* of QEMU */
#define LAUNCH_STATUS_MAX (64UL * 1024) /* names and texts of a status */

enum launch_method {
	LAUNCH_VERSIONS, /* launch_versions -> launch_versions */
	LAUNCH_STATUS,   /* {} -> launch_status */
	LAUNCH_SYNC,     /* launch_sync -> launch_status */
	LAUNCH_PREPARE,  /* launch_prepare -> launch_status */
	LAUNCH_MIGRATE,  /* launch_migrate -> launch_status */
	LAUNCH_CANCEL,   /* {migrationUid} -> launch_status */
	LAUNCH_FINALIZE, /* {migrationUid} -> launch_status */
	LAUNCH_RECOVER,  /* {migrationUid} -> launch_status */
	LAUNCH_PAUSE,    /* {} -> launch_status */
	LAUNCH_UNPAUSE,
	LAUNCH_SHUTDOWN, /* {graceSeconds} -> launch_status */
	LAUNCH_KILL,
	LAUNCH_CLEANUP,
	LAUNCH_MEASURE, /* {} -> launch_status, with its guest */
	LAUNCH_METHOD_COUNT,
};

const char *launch_method_name(enum launch_method method);

/* How long a caller waits for the answer. */
uint64_t launch_method_timeout_ms(enum launch_method method);

/* What the domain does, as libvirt sees it. */
enum launch_state {
	LAUNCH_NO_DOMAIN, /* none yet; a target waits for one */
	LAUNCH_STARTING,  /* exists, has not run: also a migration comes in */
	LAUNCH_RUNNING,
	LAUNCH_PAUSED,
	LAUNCH_SHUTTING_DOWN,
	LAUNCH_STOPPED, /* for good; the launcher is about to end */
	LAUNCH_CRASHED, /* the same, and not by its own will */
	LAUNCH_STATE_COUNT,
};

/* Why it does so. */
enum launch_cause {
	LAUNCH_CAUSE_NONE,
	LAUNCH_CAUSE_BOOTED,
	LAUNCH_CAUSE_MIGRATED, /* arrived (running, paused), or went (stopped)
				*/
	LAUNCH_CAUSE_MIGRATING,
	LAUNCH_CAUSE_POST_COPY,        /* the guest is on two nodes */
	LAUNCH_CAUSE_POST_COPY_FAILED, /* and the way between them is cut */
	LAUNCH_CAUSE_USER,             /* paused or started by request */
	LAUNCH_CAUSE_IO_ERROR,         /* paused: a disk fails */
	LAUNCH_CAUSE_GUEST,            /* shut down by itself */
	LAUNCH_CAUSE_REQUEST,          /* shut down as it was told to */
	LAUNCH_CAUSE_KILLED,           /* without being asked */
	LAUNCH_CAUSE_CRASHED,          /* the guest */
	LAUNCH_CAUSE_QEMU_GONE,        /* the process ended */
	LAUNCH_CAUSE_START_FAILED,
	LAUNCH_CAUSE_OTHER,
	LAUNCH_CAUSE_COUNT,
};

enum launch_role {
	LAUNCH_SOURCE,
	LAUNCH_TARGET,
	LAUNCH_ROLE_COUNT,
};

enum launch_mode {
	LAUNCH_PRE_COPY,
	LAUNCH_POST_COPY,
	LAUNCH_MODE_PAUSED, /* the guest was stopped so that it can finish */
	LAUNCH_MODE_COUNT,
};

/* In status.migrationState.abortStatus of KubeVirt's VMI. */
enum launch_abort {
	LAUNCH_ABORT_NONE,
	LAUNCH_ABORTING,
	LAUNCH_ABORT_SUCCEEDED,
	LAUNCH_ABORT_FAILED, /* it was too late */
	LAUNCH_ABORT_COUNT,
};

/* Why a migration failed. The record has a sentence besides. */
enum launch_reason {
	LAUNCH_REASON_NONE,
	LAUNCH_REASON_CANCELED,
	LAUNCH_REASON_PROGRESS_TIMEOUT,
	LAUNCH_REASON_COMPLETION_TIMEOUT,
	LAUNCH_REASON_CONNECT_FAILED,  /* the other side was not reached */
	LAUNCH_REASON_CONNECTION_LOST, /* it was, and then no more */
	LAUNCH_REASON_TARGET_REFUSED,  /* libvirt there says why */
	LAUNCH_REASON_TARGET_DISK,     /* a disk there is missing or differs */
	LAUNCH_REASON_TARGET_LOST,     /* QEMU there ended */
	LAUNCH_REASON_POST_COPY_UNSUPPORTED,
	LAUNCH_REASON_POST_COPY_FAILED, /* broke after the guest moved */
	LAUNCH_REASON_UNCONFIRMED,      /* the target may run it */
	LAUNCH_REASON_MACHINE_ENDED,    /* here, meanwhile */
	LAUNCH_REASON_LIBVIRT_LOST,     /* libvirtd here ended meanwhile */
	LAUNCH_REASON_NEVER_ARRIVED,    /* target: gone before it ran */
	LAUNCH_REASON_UNSUPPORTED,      /* asked for what cannot be done */
	LAUNCH_REASON_INTERNAL,
	LAUNCH_REASON_COUNT,
};

/* "Running", "PostCopy", "ConnectionLost", ...; "" for each _NONE. */
const char *launch_state_name(enum launch_state state);
const char *launch_cause_name(enum launch_cause cause);
const char *launch_role_name(enum launch_role role);
const char *launch_mode_name(enum launch_mode mode);
const char *launch_abort_name(enum launch_abort abort);
const char *launch_reason_name(enum launch_reason reason);

/* The other way; unknown names are the COUNT. */
enum launch_state launch_state_parse(const char *name);
enum launch_cause launch_cause_parse(const char *name);
enum launch_role launch_role_parse(const char *name);
enum launch_mode launch_mode_parse(const char *name);
enum launch_abort launch_abort_parse(const char *name);
enum launch_reason launch_reason_parse(const char *name);

#endif
