/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/forecast.h"

#include "api/config.h"
#include "api/predict.h"
#include "base/err.h"
#include "base/jsat.h"
#include "handler/facts.h"
#include "launchrpc/record.h"

#define STATE "status.migrationState."
/* From the second round on QEMU knows what was written to in the first. */
#define ITERATION_KNOWN 2

static const struct launch_guest *
guest_of(const struct facts *f)
{
	const struct launch_guest *guest =
		f->status == NULL ? NULL : f->status->guest;

	if (guest == NULL || f->now_us - guest->time_us > FORECAST_GUEST_US)
		return NULL;
	return guest;
}

static void
reckon_with_guest(struct predict_input *in, const struct launch_guest *guest,
		  const struct launch_progress *p)
{
	if (guest != NULL) {
		in->dirty_rate = guest->dirty_rate_bytes_per_second;
		in->dirty_known = true;
	} else if (p->iteration >= ITERATION_KNOWN) {
		in->dirty_rate = p->dirty_rate_bytes_per_second;
		in->dirty_known = true;
	}
	if (guest != NULL && guest->resident_bytes > 0 &&
	    guest->resident_bytes < guest->memory_bytes &&
	    guest->memory_bytes - guest->resident_bytes < in->memory_bytes)
		in->memory_bytes -= guest->memory_bytes - guest->resident_bytes;
}

json_t *
forecast(const struct facts *f, const struct launch_record *record)
{
	const struct launch_progress *p = &record->progress;
	struct predict_input in = {
		/* Memory and disks together. */
		.memory_bytes = p->bytes_total,
		.timed_bytes = p->bytes_total,
		.path_rate = p->rate_bytes_per_second,
	};
	struct migration_config config;
	struct prediction prediction;
	struct err ignored;

	if (p->rate_bytes_per_second == 0 || p->bytes_total == 0 ||
	    js_obj_at(f->object, STATE "prediction") != NULL)
		return NULL;
	migration_config_init(&config);
	(void)migration_config_overlay(
		&config, js_obj_at(f->object, STATE "migrationConfiguration"),
		&ignored);
	predict_settings(&in, &config);
	migration_config_done(&config);
	reckon_with_guest(&in, guest_of(f), p);
	predict(&in, &prediction);
	return predict_json(&in, &prediction);
}
