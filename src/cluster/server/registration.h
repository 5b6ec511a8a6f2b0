/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_REGISTRATION_H
#define CLUSTER_REGISTRATION_H

/*
 * registration - what must be right about webhook configurations and
 * APIServices beyond their schemas; see strategy.h.
 */

#include "base/js.h"

struct causes;
struct strategy_env;

void registration_validate_webhooks(const struct strategy_env *env,
				    json_t *object, const json_t *old,
				    struct causes *causes);
void registration_validate_apiservice(const struct strategy_env *env,
				      json_t *object, const json_t *old,
				      struct causes *causes);

#endif
