/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_POD_H
#define CLUSTER_POD_H

/* pod - what is special about pods when they are written; see strategy.h. */

#include <stdint.h>

#include "base/js.h"

struct causes;
struct delete_options;
struct strategy_env;

/* As in Kubernetes, when neither the pod nor the request says. */
#define POD_GRACE_DEFAULT_S 30

void pod_prepare_create(json_t *object);
void pod_prepare_update(json_t *object, const json_t *old);
void pod_validate(const struct strategy_env *env, json_t *object,
		  const json_t *old, struct causes *causes);
int64_t pod_grace(const json_t *object, const struct delete_options *options);

/* "Guaranteed", "Burstable" or "BestEffort". */
const char *pod_qos_class(const json_t *object);

#endif
