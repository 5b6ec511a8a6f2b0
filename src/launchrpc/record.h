/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHRPC_RECORD_H
#define LAUNCHRPC_RECORD_H

/*
 * record - what a launcher knows about its last migration.
 *
 * A launcher has one record at most: that of the last `migrate` or `prepare`.
 * It stays until the next one, so that a handler that was away reads how it
 * went. Times are microseconds since 1970, 0 for not yet.
 *
 * How it ends:
 * - source, failed: the machine is here, running or paused as it was, unless
 *   reason is MachineEnded.
 * - either side, not completed with reason PostCopyFailed: it is stalled,
 * partly here and partly there, since end_us. `recover` on the source may end
 * that, and so may QEMU by itself; the reason goes while that is tried. The
 * target's QEMU has to listen before: see `listening`.
 * - source, not completed with reason Unconfirmed: the connection broke between
 *   the hand-over and the target's word that it runs. The machine stands here,
 *   since end_us. `cancel` brings it back, once it is known that the target
 *   does not have it and that its disks have not gone on; a stop of the pod is
 *   its end.
 * - source, completed and not failed: libvirt says that it was handed over.
 * That is not success: the target's record says whether it runs there.
 * - target, completed: it was seen running (or paused, as it was) here, and
 *   nothing more comes from the source. domain_ready_us is when it was seen.
 * - target, failed: it never ran here (NeverArrived), as far as libvirt has
 *   told; or it did, since domain_ready_us, and has ended (MachineEnded).
 *
 * Threading: as js.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"
#include "launchrpc/protocol.h"

struct err;

/* Memory and disks together. What is not known is 0. */
struct launch_progress {
	uint32_t percent;
	uint64_t bytes_total;
	uint64_t bytes_processed; /* more than total when pages go twice */
	uint64_t bytes_remaining;
	uint64_t rate_bytes_per_second;
	uint64_t dirty_rate_bytes_per_second;
	uint64_t iteration;
	uint64_t expected_downtime_ms;
	uint64_t eta_seconds; /* 0: not known, or it does not get less */
	uint32_t throttle_percent;
	uint64_t downtime_ms; /* as it was; once it is over */
	uint64_t blackout_ms; /* the same, each part by one clock; virt/job.h */
};

struct launch_record {
	char *uid;
	enum launch_role role;
	int64_t start_us;
	int64_t end_us;
	bool completed; /* nothing more comes; failed ones too */
	bool failed;
	enum launch_reason reason;
	char *message; /* a sentence; "" for none */
	enum launch_mode mode;
	enum launch_abort abort;
	/* The abort does not come to an end by itself: the handler has to cut
	 * the streams (source.stop of ferry-proxy), which ends it at once. */
	bool cut_streams;
	/* A second monitor tells of QEMU's own stream, or will: the numbers
	 * below count. How often post-copy broke, and how many of these breaks
	 * are mended; on the target, after how many QEMU was made to listen
	 * again. */
	bool watched;
	uint64_t breaks, mended, listening;
	/* target */
	bool domain_detected;
	int64_t domain_ready_us;
	struct launch_progress progress;
};

/* { 0 } is an empty record for this. */
void launch_record_done(struct launch_record *record);
void launch_record_copy(struct launch_record *to,
			const struct launch_record *from);

/* A new reference. */
json_t *launch_record_encode(const struct launch_record *record);
/* On failure *ret is empty. Names that are not known, as a later version may
 * have them, are Internal, Other and the like; members are ignored. */
int launch_record_decode(const json_t *obj, struct launch_record *ret,
			 struct err *err);

/* Whether post-copy is broken now: by QEMU's own word where it has said
 * something, else by libvirt's, who does not notice when QEMU goes on. */
bool launch_record_broken(const struct launch_record *record, bool libvirt);

#endif
