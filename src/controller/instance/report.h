/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_INSTANCE_REPORT_H
#define CONTROLLER_INSTANCE_REPORT_H

/*
 * report - what an instance is to say about itself, as a patch against what it
 * says.
 *
 * Writes what is the controller's: the phase before the node takes over and
 * when the pod is lost; the conditions Ready, PodScheduled, EvictionRequested,
 * DataVolumesReady for machines that had to wait for some, and, before the node
 * takes over, Synchronized; activePods, qosClass,
 * launcherContainerImageVersion and its label; at the hand-over to the node
 * nodeName, migrationTransport and volumeStatus.
 *
 * Threading: as facts.h. Pure.
 */

#include "base/js.h"
#include "controller/instance/facts.h"

#define REPORT_TEXT_SIZE 320

/* All that its data volumes bring is there, or not yet. */
#define COND_DATA_VOLUMES "DataVolumesReady"
#define REASON_DATA_VOLUMES_READY "AllDVsReady"
#define REASON_DATA_VOLUMES_UNREADY "NotAllDVsReady"

struct instance_report {
	enum vmi_phase phase; /* that it is to be in */
	/* Why it is not getting on; reason NULL: it is. */
	const char *trouble, *trouble_text;
	char volumes_text[REPORT_TEXT_SIZE]; /* "": no data volume lacks */
	const char *status_reason;           /* status.reason; NULL: as it is */
	bool forget_launcher;                /* no pod is left of it */
};

/* A merge patch, a new reference; NULL when it says all that already. */
json_t *instance_report(const struct instance_facts *facts,
			const struct instance_report *report);

#endif
