/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_SOURCE_H
#define LAUNCHER_SOURCE_H

/*
 * source - one migration away from here.
 *
 * Two threads, each with its own connection to libvirt: the mover is inside of
 * libvirt's call from the beginning to the end, the monitor looks at the job,
 * decides (monitor.h) and acts. What they find comes to the loop's thread, and
 * only that touches the record.
 *
 * How an abort ends: the monitor asks libvirt each second. libvirt says yes and
 * may go on all the same, when a stream is stuck. After SOURCE_ABORT_GRACE_MS
 * the record says that streams must be cut; who owns them does, and the call
 * returns. Codes of libvirt do not tell an abort from a broken pipe: that one
 * was asked for is remembered here.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "launcher/monitor.h"
#include "launchrpc/record.h"
#include "virt/domain.h"
#include "virt/migrate.h"

struct err;
struct loop;
struct source;

#define SOURCE_ABORT_GRACE_MS 10000U

struct source_config {
	struct loop *loop;
	const char *uri;    /* of libvirtd here */
	const char *domain; /* outlive the source, as all texts */
	const char *uid;
	struct virt_migration migration; /* texts are copied */
	struct monitor_limits limits;
	uint64_t max_downtime_ms; /* 0: QEMU's own */
	uint64_t abort_grace_ms;  /* 0: SOURCE_ABORT_GRACE_MS */
	/* The record has changed; and once more when it is over. */
	void (*changed)(void *ctx);
	void *ctx;
};

struct source *source_start(const struct source_config *config);

/* The threads are done; the record changes by source_follow() only. */
bool source_over(const struct source *source);

/* Only of one that is over. NULL is fine. */
void source_free(struct source *source);

/*
 * Asks for the end. ERR_CONFLICT when it is too late: it is over, or the guest
 * runs on the other side. Again changes nothing.
 */
int source_abort(struct source *source, struct err *err);

/* After a post-copy that broke: tries again. ERR_CONFLICT when it did not. */
int source_recover(struct source *source, struct err *err);

/* What was seen of the domain: one that was stalled may have ended well. */
void source_follow(struct source *source, const struct virt_look *look);

const struct launch_record *source_record(const struct source *source);

#endif
