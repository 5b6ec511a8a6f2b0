/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_FORECAST_H
#define HANDLER_FORECAST_H

/*
 * forecast - what is predicted of a migration when it begins, of what is known
 * then without asking anybody: its first second, and what was measured of the
 * guest before. Pure; see api/predict.h.
 */

#include "base/js.h"

struct facts;
struct launch_record;

/* What was measured of a guest is believed for so long. */
#define FORECAST_GUEST_US (INT64_C(600) * 1000000)

/* For status.migrationState.prediction: a new reference, or NULL when it is not
 * known how fast it goes, or it has been said. */
json_t *forecast(const struct facts *facts, const struct launch_record *record);

#endif
