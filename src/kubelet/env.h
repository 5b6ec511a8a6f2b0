/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_ENV_H
#define KUBELET_ENV_H

/*
 * env - the environment of a container, and what a pod may know of itself.
 *
 * Pure. Threading: any thread, with JSON of its own.
 */

#include "base/js.h"

struct err;

/* What stands in the pod's status, and is not written there yet. */
struct env_facts {
	const char *host_ip;
	const char *pod_ip; /* "" when there is none */
	const char *node_name;
};

/* The value of a fieldRef ("metadata.labels['a']"); the caller frees it. NULL
 * for a path that is not known. */
char *env_field(const json_t *pod, const struct env_facts *facts,
		const char *path, struct err *err);

/* The value of a resourceFieldRef; container is the pod's own. */
char *env_resource(const json_t *container, const char *resource,
		   const char *divisor, struct err *err);

/*
 * An array of "NAME=VALUE": the image's, those of envFrom, then env, in which
 * $(NAME) stands for what came before. A new reference, or NULL when a key of
 * a ConfigMap or Secret is missing that is not optional.
 */
json_t *env_make(const json_t *pod, const json_t *container,
		 const json_t *image, const json_t *have,
		 const struct env_facts *facts, struct err *err);

/* text with $(NAME) replaced by what env says, $$ by $; what is not known
 * stays. To be freed. */
char *env_expand(const json_t *env, const char *text);

#endif
