/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_DOCTORNODES_H
#define CTL_DOCTORNODES_H

/*
 * doctornodes - what `ferryctl doctor` gathers where it has nothing but a
 * kubeconfig: it asks the agents of the nodes, see pathask.h.
 *
 * Threading: one thread.
 */

#include "base/js.h"

struct err;
struct kubesync;

/* Asks each node that runs machines about its proxy and about the way to the
 * next one; fills "nodes" and "paths" of facts (doctor.h). */
int doctornodes_all(struct kubesync *kube, const char *ns, json_t *facts,
		    struct err *err);

/* Asks the two nodes of facts' "migration", of the machine vmi; fills "nodes",
 * "probes" and the migration's "sockets". */
int doctornodes_migration(struct kubesync *kube, const char *ns,
			  const char *vmi, json_t *facts, struct err *err);

#endif
