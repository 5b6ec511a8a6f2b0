/* SPDX-License-Identifier: Apache-2.0 */
#include "api/config.h"

#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "api/text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"

#define DEFAULT_ALLOCATION_RATIO 10
#define DEFAULT_OVERCOMMIT 100
#define RATIO_MAX 1000000

static const char *const eviction_names[] = {
	[EVICTION_UNSET] = "",
	[EVICTION_NONE] = "None",
	[EVICTION_LIVE_MIGRATE] = "LiveMigrate",
	[EVICTION_LIVE_MIGRATE_IF_POSSIBLE] = "LiveMigrateIfPossible",
	[EVICTION_EXTERNAL] = "External",
};
_Static_assert(ARRAY_LEN(eviction_names) == EVICTION_STRATEGY_COUNT,
	       "each strategy has a name");

/* On whatever the lists say, and on until it is switched off. */
static const char *const gates_always[] = { "LiveMigration",
					    "MigrationPriorityQueue",
					    "VolumeMigration" };
static const char *const gates_default[] = { GATE_NODE_RESTRICTION };

const char *
eviction_strategy_name(enum eviction_strategy strategy)
{
	return eviction_names[strategy];
}

enum eviction_strategy
eviction_strategy_parse(const char *text)
{
	size_t i = text_index(eviction_names, ARRAY_LEN(eviction_names), text);

	return i == ARRAY_LEN(eviction_names) ? EVICTION_UNSET
					      : (enum eviction_strategy)i;
}

static void
decode_deadlines(const json_t *object, struct migration_deadlines *deadlines)
{
	*deadlines = (struct migration_deadlines){
		.unschedulable_s = CONFIG_UNSCHEDULABLE_TIMEOUT_S,
		.pending_s = CONFIG_PENDING_TIMEOUT_S,
		.scheduled_s =
			text_seconds(object, ANNOTATION_SCHEDULED_TIMEOUT,
				     CONFIG_SCHEDULED_TIMEOUT_S),
		.preparing_s =
			text_seconds(object, ANNOTATION_PREPARING_TIMEOUT,
				     CONFIG_PREPARING_TIMEOUT_S),
		.ready_s = text_seconds(object, ANNOTATION_READY_TIMEOUT,
					CONFIG_READY_TIMEOUT_S),
		.running_s = text_seconds(object, ANNOTATION_RUNNING_TIMEOUT,
					  CONFIG_RUNNING_TIMEOUT_S),
	};
}

static bool
lists(const json_t *array, const char *text)
{
	size_t i;
	json_t *item;

	json_array_foreach(array, i, item)
	{
		if (str_equal(json_string_value(item), text))
			return true;
	}
	return false;
}

static void
add_gate(struct kubevirt_config *config, const char *gate)
{
	if (config->gate_count < CONFIG_GATES_MAX)
		config->gates[config->gate_count++] = text_new(gate);
}

static void
decode_gates(const json_t *developer, struct kubevirt_config *config)
{
	const json_t *on = js_arr_at(developer, "featureGates");
	const json_t *off = js_arr_at(developer, "disabledFeatureGates");
	size_t i;
	json_t *item;

	config->gates = xcalloc(CONFIG_GATES_MAX, sizeof(*config->gates));
	for (i = 0; i < ARRAY_LEN(gates_always); i++)
		add_gate(config, gates_always[i]);
	for (i = 0; i < ARRAY_LEN(gates_default); i++) {
		if (!lists(off, gates_default[i]))
			add_gate(config, gates_default[i]);
	}
	json_array_foreach(on, i, item)
	{
		const char *gate = json_string_value(item);

		if (gate != NULL && !lists(off, gate) &&
		    !kubevirt_config_gate(config, gate))
			add_gate(config, gate);
	}
}

/* A factor between 0.5 and 10 or so; nonsense is 1. */
static double
decode_ratio(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (text[0] == '\0' || *end != '\0' || !(value >= 1.0 && value < 100.0))
		return 1.0;
	return value;
}

static uint64_t
positive_at(const json_t *obj, const char *path, uint64_t otherwise)
{
	int64_t value = js_int_at(obj, path, 0);

	return value > 0 && value <= RATIO_MAX ? (uint64_t)value : otherwise;
}

/* As Go writes durations: "1h2m3s"; in seconds, otherwise for nonsense. */
static int64_t
duration_s(const char *text, int64_t otherwise)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };
	int64_t total = 0;

	if (*text == '\0')
		return otherwise;
	while (*text != '\0') {
		char *end;
		long value = strtol(text, &end, 10);
		size_t i = 0;

		while (i < ARRAY_LEN(units) && units[i].unit != *end)
			i++;
		if (end == text || value < 0 || value > INT32_MAX ||
		    i == ARRAY_LEN(units))
			return otherwise;
		total += value * units[i].seconds;
		text = end + 1;
	}
	return total;
}

static void
decode_updates(const json_t *object, struct kubevirt_config *config)
{
	const json_t *strategy =
		js_obj_at(object, "spec.workloadUpdateStrategy");
	const json_t *methods = js_arr_at(strategy, "workloadUpdateMethods");
	const json_t *status = js_obj_at(object, "status");
	const char *phase = js_str_at(status, "phase");

	config->methods_live_migrate = lists(methods, "LiveMigrate");
	config->methods_evict = lists(methods, "Evict");
	config->evict_batch = (uint32_t)positive_at(
		strategy, "batchEvictionSize", CONFIG_EVICT_BATCH);
	config->evict_interval_s =
		duration_s(js_str_at(strategy, "batchEvictionInterval"),
			   CONFIG_EVICT_INTERVAL_S);
	/* Without an operator nobody says, and nothing is under way. */
	config->deployed = (*phase == '\0' || strcmp(phase, "Deployed") == 0) &&
			   strcmp(js_str_at(status, "observedDeploymentID"),
				  js_str_at(status, "targetDeploymentID")) == 0;
	config->outdated = js_int_at(
		status, "outdatedVirtualMachineInstanceWorkloads", -1);
}

static int
decode_spec(const json_t *object, struct kubevirt_config *config,
	    struct err *err)
{
	const json_t *spec = js_obj_at(object, "spec.configuration");
	const json_t *developer = js_obj_at(spec, "developerConfiguration");

	decode_gates(developer, config);
	decode_deadlines(object, &config->deadlines);
	config->parallel_inbound =
		(uint32_t)text_seconds(object, ANNOTATION_INBOUND_LIMIT, 0);
	config->eviction =
		eviction_strategy_parse(js_str_at(spec, "evictionStrategy"));
	if (config->eviction == EVICTION_UNSET)
		config->eviction = EVICTION_NONE;
	config->cpu_model = text_at(spec, "cpuModel");
	config->machine_type = text_at(spec, "machineType");
	config->image_pull_policy = text_at(spec, "imagePullPolicy");
	config->default_interface =
		strcmp(js_str_at(spec, "network.defaultNetworkInterface"),
		       "masquerade") == 0
			? "masquerade"
			: "bridge";
	config->use_emulation = js_bool_at(developer, "useEmulation", false);
	config->cpu_allocation_ratio = positive_at(
		developer, "cpuAllocationRatio", DEFAULT_ALLOCATION_RATIO);
	config->memory_overcommit =
		positive_at(developer, "memoryOvercommit", DEFAULT_OVERCOMMIT);
	config->memory_overhead_ratio = decode_ratio(
		js_str_at(spec, "additionalGuestMemoryOverheadRatio"));
	decode_updates(object, config);
	if (migration_config_overlay(&config->migrations,
				     js_obj_at(spec, "migrations"), err) == -1)
		return err_prefix(err, "spec.configuration.migrations");
	return 0;
}

struct kubevirt_config *
kubevirt_config_decode(const json_t *object, struct err *err)
{
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = xmalloc0(sizeof(*config));

	migration_config_init(&config->migrations);
	if (object != NULL && objmeta_decode(object, &config->meta, err) == -1)
		return NULL;
	if (decode_spec(object, config, err) == -1)
		return NULL;
	return TAKE_PTR(config);
}

void
kubevirt_config_free(struct kubevirt_config *config)
{
	if (config == NULL)
		return;
	objmeta_done(&config->meta);
	migration_config_done(&config->migrations);
	for (size_t i = 0; i < config->gate_count; i++)
		text_free(config->gates[i]);
	free(config->gates);
	text_free(config->cpu_model);
	text_free(config->machine_type);
	text_free(config->image_pull_policy);
	free(config);
}

void
kubevirt_config_unref(struct kubevirt_config **pointer)
{
	kubevirt_config_free(*pointer);
	*pointer = NULL;
}

bool
kubevirt_config_gate(const struct kubevirt_config *config, const char *gate)
{
	for (size_t i = 0; i < config->gate_count; i++) {
		if (strcmp(config->gates[i], gate) == 0)
			return true;
	}
	return false;
}
