/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_PODREFS_H
#define CLUSTER_AUTH_PODREFS_H

/*
 * podrefs - which other objects of its namespace a pod refers to.
 */

#include "base/js.h"

enum podref {
	PODREF_SECRET,
	PODREF_CONFIG_MAP,
	PODREF_CLAIM,
	PODREF_SERVICE_ACCOUNT,
	PODREF_COUNT,
};

/* The annotation of pods that mirror a file on the node. */
#define PODREFS_MIRROR "kubernetes.io/config.mirror"

/* Calls fn for each reference; the same object may come several times. */
void podrefs_each(const json_t *pod,
		  void (*fn)(enum podref type, const char *name, void *arg),
		  void *arg);

#endif
