/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/hindsight.h"

#include <stdint.h>

#include "base/err.h"
#include "base/jsat.h"
#include "meta/time.h"

#define US_PER_MS 1000

void
hindsight_add(json_t *state)
{
	json_t *prediction = js_obj_at(state, "prediction"), *actual;
	int64_t start_us, end_us, downtime_ms;
	struct err ignored;

	if (prediction == NULL || !js_bool_at(state, "completed", false) ||
	    js_bool_at(state, "failed", false) ||
	    time_parse(js_str_at(state, "startTimestamp"), &start_us,
		       &ignored) == -1 ||
	    time_parse(js_str_at(state, "endTimestamp"), &end_us, &ignored) ==
		    -1)
		return;
	actual = json_pack("{s:s, s:I}", "mode", js_str_at(state, "mode"),
			   "copyMs",
			   (json_int_t)((end_us - start_us) / US_PER_MS));
	/* 0: the nodes do not know. */
	downtime_ms = js_int_at(state, "progress.downtimeMs", 0);
	if (downtime_ms > 0)
		json_object_set_new(actual, "downtimeMs",
				    json_integer(downtime_ms));
	json_object_set_new(prediction, "actual", actual);
}

bool
hindsight_error(const json_t *state, double *ret_ratio)
{
	int64_t predicted = js_int_at(state, "prediction.copyMs", 0);
	int64_t actual = js_int_at(state, "prediction.actual.copyMs", 0);
	int64_t off =
		predicted > actual ? predicted - actual : actual - predicted;

	if (predicted <= 0 || actual <= 0)
		return false;
	*ret_ratio = (double)off / (double)actual;
	return true;
}
