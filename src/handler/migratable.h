/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_MIGRATABLE_H
#define HANDLER_MIGRATABLE_H

/*
 * migratable - whether a machine can be moved while it runs, and how.
 *
 * In KubeVirt's order and words. What a pure function cannot know is asked of
 * the caller.
 */

#include <stdbool.h>

#include "api/storage.h"
#include "api/vmi.h"

struct migratable_facts {
	const struct vmi *vmi;
	/* The model of the node's own CPU is known, so that another node can
	 * be found that has it. */
	bool host_model_known;
	/* The claim of a name, or NULL. */
	const struct pvc *(*claim)(void *arg, const char *name);
	void *arg;
};

struct migratable {
	bool ok;
	bool block; /* disks are copied */
	/* Why not; NULL and "" if it can. */
	const char *reason;
	char message[512];
	/* The same without looking at disks: the machine could move together
	 * with its volumes. */
	bool storage_ok;
	char storage_message[512];
};

void migratable_judge(const struct migratable_facts *facts,
		      struct migratable *ret);

#endif
