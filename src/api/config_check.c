/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of MigrationPolicies and of the KubeVirt object. */
#include "api/check.h"

#include <math.h>
#include <stdlib.h>

#include "api/check_internal.h"
#include "api/config.h"
#include "api/names.h"
#include "api/text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/obj.h"

static void
check_not_negative(const json_t *spec, const char *name, const char *prefix,
		   struct status *st)
{
	AUTO(free_ptr) char *field = xasprintf("%s.%s", prefix, name);
	const json_t *value = js_at(spec, name);
	struct quantity quantity;
	struct err err;

	if (value == NULL)
		return;
	if (text_quantity(value, name, &quantity, &err) == -1)
		(void)check_deny(st, CHECK_INVALID, field, "%s", err.text);
	else if (quantity_sign(&quantity) < 0)
		(void)check_deny(st, CHECK_INVALID, field,
				 "must not be negative");
}

static void
check_downtime(const json_t *before, const json_t *now,
	       const struct kubevirt_config *config, const char *field,
	       struct status *st)
{
	const json_t *value = js_at(now, "maxDowntimeMs");

	if (value == NULL ||
	    check_same(js_at(before, "maxDowntimeMs"), value) ||
	    kubevirt_config_gate(config, GATE_STALL_DETECTION) ||
	    kubevirt_config_gate(config, GATE_DOWNTIME_TUNING))
		return;
	(void)check_deny(st, CHECK_INVALID, field,
			 "maxDowntimeMs cannot be modified without enabling "
			 "the %s or %s feature gate",
			 GATE_STALL_DETECTION, GATE_DOWNTIME_TUNING);
}

/* What is behind a gate may stay, but not change. */
static const json_t *
check_experiment(const json_t *before, const json_t *now, const char *name,
		 bool enabled, const char *gate, struct status *st)
{
	AUTO(free_ptr) char *path = xasprintf("experimental.%s", name);
	AUTO(free_ptr) char *field = xasprintf("spec.%s", path);
	const json_t *value = js_at(now, path);

	if (value != NULL && !enabled &&
	    !check_same(js_at(before, path), value))
		(void)check_deny(st, CHECK_INVALID, field,
				 "%s cannot be modified without enabling the "
				 "%s feature gate",
				 path, gate);
	return value;
}

static const struct factor {
	const char *name;
	double min, max;
	bool exclusive;
} factors[] = {
	{ "ewmaAlpha", 0, 1, true },
	{ "precopyPossibleFactor", 1, HUGE_VAL, false },
	{ "patienceWindowDecayFactor", 0, 1, false },
	{ "completionTimeoutFactor", 1, HUGE_VAL, false },
};

static void
check_factor(const json_t *detector, const struct factor *factor,
	     struct status *st)
{
	AUTO(free_ptr)
	char *field =
		xasprintf("spec.experimental.stallDetector.%s", factor->name);
	const json_t *value = js_at(detector, factor->name);
	const char *text = json_string_value(value);
	char *end = NULL;
	double number;

	if (value == NULL)
		return;
	number = text == NULL ? 0 : strtod(text, &end);
	if (text == NULL || end == text || *end != '\0' || !isfinite(number))
		(void)check_deny(st, CHECK_INVALID, field,
				 "must be a number in quotes");
	else if (factor->exclusive && number <= factor->min)
		(void)check_deny(st, CHECK_INVALID, field,
				 "must be greater than %g", factor->min);
	else if (number < factor->min)
		(void)check_deny(st, CHECK_INVALID, field,
				 "must be greater than or equal to %g",
				 factor->min);
	else if (number > factor->max)
		(void)check_deny(st, CHECK_INVALID, field,
				 "must be less than or equal to %g",
				 factor->max);
}

int
policy_check(const json_t *old_object, const json_t *new_object,
	     const struct kubevirt_config *config, struct status *st)
{
	const json_t *before = js_obj_at(old_object, "spec");
	const json_t *now = js_obj_at(new_object, "spec");
	const json_t *tuning, *detector;

	check_not_negative(now, "completionTimeoutPerGiB", "spec", st);
	check_downtime(before, now, config, "spec.maxDowntimeMs", st);
	tuning = check_experiment(
		before, now, "downtimeTuning",
		kubevirt_config_gate(config, GATE_DOWNTIME_TUNING),
		GATE_DOWNTIME_TUNING, st);
	detector = check_experiment(
		before, now, "stallDetector",
		kubevirt_config_gate(config, GATE_STALL_DETECTION),
		GATE_STALL_DETECTION, st);
	for (size_t i = 0; i < ARRAY_LEN(factors); i++)
		check_factor(detector, &factors[i], st);
	if (tuning != NULL && detector != NULL)
		(void)check_deny(
			st, CHECK_INVALID, "spec.experimental",
			"stallDetector and downtimeTuning are mutually "
			"exclusive");
	check_not_negative(now, "bandwidthPerMigration", "spec", st);
	return st->code == 0 ? 0 : -1;
}

static void
check_annotations(const json_t *object, struct status *st)
{
	static const char *const names[] = {
		ANNOTATION_SCHEDULED_TIMEOUT, ANNOTATION_PREPARING_TIMEOUT,
		ANNOTATION_READY_TIMEOUT,     ANNOTATION_RUNNING_TIMEOUT,
		ANNOTATION_INBOUND_LIMIT,
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO(free_ptr)
		char *field = xasprintf("metadata.annotations[%s]", names[i]);
		const char *text = obj_annotation(object, names[i]);
		struct err err;
		uint64_t value;

		if (text != NULL && str_to_u64(text, names[i], 0, INT32_MAX,
					       &value, &err) == -1)
			(void)check_deny(st, CHECK_INVALID, field, "%s",
					 err.text);
	}
}

int
kubevirt_check(const json_t *old_object, const json_t *new_object,
	       struct status *st)
{
	static const char path[] = "spec.configuration.migrations";
	AUTO(kubevirt_config_unref) struct kubevirt_config *config = NULL;
	const json_t *now = js_obj_at(new_object, path);
	struct err err;

	check_not_negative(now, "completionTimeoutPerGiB", path, st);
	check_not_negative(now, "progressTimeout", path, st);
	check_not_negative(now, "utilityVolumesTimeout", path, st);
	check_not_negative(now, "bandwidthPerMigration", path, st);
	check_annotations(new_object, st);
	if (st->code != 0)
		return -1;
	config = kubevirt_config_decode(new_object, &err);
	if (config == NULL)
		return check_fail(st, "%s", err.text);
	/* The name of the field is KubeVirt's. */
	check_downtime(
		js_obj_at(old_object, path), now, config,
		"spec.configuration.migrationConfiguration.maxDowntimeMs", st);
	return st->code == 0 ? 0 : -1;
}
