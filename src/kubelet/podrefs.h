/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_PODREFS_H
#define KUBELET_PODREFS_H

/*
 * podrefs - which other objects a pod is made of.
 *
 * ConfigMaps and Secrets of volumes and environments, claims and the volumes
 * they are bound to, tokens, and the definitions of its networks. They are
 * fetched one after the other and kept by key in a JSON object; one that may
 * be missing, and is, is null there.
 *
 * Pure. Threading: any thread, with JSON of its own.
 */

#include <stdbool.h>

#include "base/js.h"
#include "kube/resource.h"

struct err;

#define PODREFS_KEY_MAX 600

struct podref {
	char key[PODREFS_KEY_MAX];
	const struct kube_resource *resource;
	char ns[260]; /* "" when it has none */
	char name[260];
	bool optional;
	const json_t *token; /* the pod's projection, when one is asked for */
};

/* The first that `have` lacks; 0: there is one, 1: all are there. -1 when the
 * pod cannot be made with what is there: ERR_NOT_FOUND names what. */
int podrefs_next(const json_t *pod, const json_t *have, struct podref *ret,
		 struct err *err);

/* What was fetched; NULL when it is missing. */
const json_t *podrefs_get(const json_t *have, const char *plural,
			  const char *name);
/* The token of a projected volume's source. */
const json_t *podrefs_token(const json_t *have, const char *volume,
			    size_t source);
/* The definition of a network. */
const json_t *podrefs_network(const json_t *have, const char *ns,
			      const char *name);

/* Whether some of it may change while the pod runs. */
bool podrefs_change(const json_t *pod);

#endif
