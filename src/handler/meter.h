/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_METER_H
#define HANDLER_METER_H

/*
 * meter - what a handler counts about machines and migrations, for /metrics.
 *
 * Looks at facts and launchers' records; asks nobody. KubeVirt's families have
 * KubeVirt's names and labels, Ferry's begin with ferry_handler_.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "api/vmi.h"
#include "base/prom.h"
#include "handler/decision.h"
#include "launchrpc/protocol.h"

struct buf;
struct launch_record;

enum meter_result {
	METER_SUCCEEDED,
	METER_FAILED,
	METER_RESULT_COUNT,
};

struct meter {
	int64_t since_us; /* migrations that ended before are not counted */
	struct prom_histogram times[LAUNCH_ROLE_COUNT][METER_RESULT_COUNT];
	struct prom_histogram downtimes; /* of those that left, if known */
	struct prom_histogram blackouts; /* the same */
	uint64_t step_failures[STEP_COUNT];
};

/* A record of a machine's migration, any number of times: counted once, when it
 * is over. counted: the migration that was counted last for the machine; to be
 * freed, NULL for none. */
void meter_record(struct meter *meter, const struct launch_record *record,
		  char **counted);

/* A machine, as far as it is written about. */
struct meter_machine {
	const char *ns, *name;
	bool here;                          /* it runs here, or is about to */
	enum vmi_phase phase;               /* only if so */
	const struct launch_record *record; /* NULL for none */
};

/* Everything; -1 when buf is full. */
int meter_write(const struct meter *meter, const char *node,
		const struct meter_machine *machines, size_t count,
		struct buf *buf);

#endif
