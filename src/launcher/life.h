/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_LIFE_H
#define LAUNCHER_LIFE_H

/*
 * life - what a domain's state means for the launcher: what is told, and
 * whether it is over.
 *
 * Pure functions of what was seen and of what was asked for.
 *
 * Threading: any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "launchrpc/record.h"
#include "virt/domain.h"

/* What the launcher knows besides libvirt's word. */
struct life {
	bool started;   /* a domain was here: started, or arrived */
	bool stopping;  /* shutdown was asked for */
	bool killing;   /* it is being killed, by request or after its grace */
	bool lost;      /* that is since what is here can never run again */
	bool qemu_gone; /* libvirtd is away, and so is the process */
};

struct life_verdict {
	enum launch_state state;
	enum launch_cause cause;
	bool over;   /* the launcher ends */
	bool failed; /* with a failure */
};

void life_judge(const struct life *life, const struct virt_look *look,
		struct life_verdict *ret_verdict);

/*
 * The target's record after a look at the domain; now_us is the time. Returns
 * whether it changed.
 */
bool life_follow_target(struct launch_record *record,
			const struct virt_look *look, int64_t now_us);

/*
 * The same when libvirt has said that the domain was let run, whatever is seen
 * of it afterwards. One that was taken for never to have run has ended.
 */
bool life_ran_target(struct launch_record *record, int64_t now_us);

/* Half of a machine stands here, and waits for the other: it hears no button,
 * and a QEMU that stands with all it has may not even answer. */
bool life_is_half(const struct launch_record *target);

#endif
