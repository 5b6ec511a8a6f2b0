/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_TAINT_H
#define META_TAINT_H

/*
 * taint - what a node has against pods, and what a pod puts up with.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

enum taint_effect {
	TAINT_NO_SCHEDULE,
	TAINT_PREFER_NO_SCHEDULE,
	TAINT_NO_EXECUTE,
	TAINT_EFFECT_COUNT, /* also: none of these */
};

#define TAINT_NOT_READY "node.kubernetes.io/not-ready"
#define TAINT_UNREACHABLE "node.kubernetes.io/unreachable"
#define TAINT_UNSCHEDULABLE "node.kubernetes.io/unschedulable"

struct taint {
	char *key, *value;
	enum taint_effect effect;
};

struct toleration {
	char *key, *value;        /* key "": any */
	bool exists;              /* any value */
	enum taint_effect effect; /* TAINT_EFFECT_COUNT: any */
	bool timed;
	int64_t seconds; /* when timed */
};

const char *taint_effect_name(enum taint_effect effect); /* "NoSchedule" */

/* From a node's spec.taints; to be freed with taints_free(). */
struct taint *taints_from_json(const json_t *array, size_t *ret_len);
void taints_free(struct taint *taints, size_t len);

/* From a pod's spec.tolerations; to be freed with tolerations_free(). */
struct toleration *tolerations_from_json(const json_t *array, size_t *ret_len);
void tolerations_free(struct toleration *tolerations, size_t len);

/* Whether it keeps a pod away that does not tolerate it; others only make the
 * node a worse one. */
bool taint_is_hard(const struct taint *taint);

bool toleration_covers(const struct toleration *toleration,
		       const struct taint *taint);
bool tolerations_cover(const struct toleration *tolerations, size_t len,
		       const struct taint *taint);

#endif
