/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of migrations: the part of config.h that policies share. */
#include "api/config.h"

#include "api/text.h"
#include "base/err.h"
#include "base/jsat.h"

void
migration_config_init(struct migration_config *config)
{
	*config = (struct migration_config){
		.node_drain_taint_key = text_new(CONFIG_DRAIN_TAINT),
		.parallel_cluster = CONFIG_PARALLEL_CLUSTER,
		.parallel_outbound = CONFIG_PARALLEL_OUTBOUND,
		.bandwidth = QUANTITY_ZERO,
		.completion_timeout_per_gib = CONFIG_COMPLETION_TIMEOUT_PER_GIB,
		.progress_timeout_s = CONFIG_PROGRESS_TIMEOUT_S,
		.utility_timeout_s = CONFIG_UTILITY_TIMEOUT_S,
		.max_downtime_ms = CONFIG_MAX_DOWNTIME_MS,
		.network = text_new(""),
	};
}

void
migration_config_done(struct migration_config *config)
{
	text_free(config->node_drain_taint_key);
	text_free(config->network);
	json_decref(config->experimental);
	*config = (struct migration_config){ .network = NULL };
}

void
migration_config_copy(struct migration_config *to,
		      const struct migration_config *from)
{
	*to = *from;
	to->node_drain_taint_key = text_new(from->node_drain_taint_key);
	to->network = text_new(from->network);
	to->experimental = json_incref(from->experimental);
}

static int
overlay_int(const json_t *obj, const char *name, int64_t max, int64_t *value,
	    struct err *err)
{
	const json_t *member = js_at(obj, name);

	if (member == NULL)
		return 0;
	if (!json_is_integer(member) || json_integer_value(member) < 0 ||
	    json_integer_value(member) > max)
		return err_set(err, ERR_INVALID,
			       "%s is no number from 0 to %lld", name,
			       (long long)max);
	*value = json_integer_value(member);
	return 0;
}

static void
overlay_text(const json_t *obj, const char *name, char **text)
{
	const char *said = js_str_at(obj, name);

	if (said[0] == '\0')
		return;
	text_free(*text);
	*text = text_new(said);
}

static void
overlay_tristate(const json_t *obj, const char *name, enum tristate *value)
{
	const json_t *member = js_at(obj, name);

	if (json_is_boolean(member))
		*value = json_is_true(member) ? TRISTATE_TRUE : TRISTATE_FALSE;
}

static int
overlay_numbers(struct migration_config *config, const json_t *obj,
		struct err *err)
{
	int64_t cluster = config->parallel_cluster;
	int64_t outbound = config->parallel_outbound;
	const json_t *bandwidth = js_at(obj, "bandwidthPerMigration");

	if (overlay_int(obj, "parallelMigrationsPerCluster", UINT32_MAX,
			&cluster, err) == -1 ||
	    overlay_int(obj, "parallelOutboundMigrationsPerNode", UINT32_MAX,
			&outbound, err) == -1)
		return -1;
	config->parallel_cluster = (uint32_t)cluster;
	config->parallel_outbound = (uint32_t)outbound;
	if (overlay_int(obj, "completionTimeoutPerGiB", INT64_MAX,
			&config->completion_timeout_per_gib, err) == -1 ||
	    overlay_int(obj, "progressTimeout", INT64_MAX,
			&config->progress_timeout_s, err) == -1 ||
	    overlay_int(obj, "utilityVolumesTimeout", INT64_MAX,
			&config->utility_timeout_s, err) == -1 ||
	    overlay_int(obj, "maxDowntimeMs", INT64_MAX,
			&config->max_downtime_ms, err) == -1)
		return -1;
	if (bandwidth != NULL &&
	    text_quantity(bandwidth, "bandwidthPerMigration",
			  &config->bandwidth, err) == -1)
		return -1;
	return 0;
}

int
migration_config_overlay(struct migration_config *config, const json_t *obj,
			 struct err *err)
{
	json_t *experimental = js_obj_at(obj, "experimental");

	overlay_text(obj, "nodeDrainTaintKey", &config->node_drain_taint_key);
	overlay_text(obj, "network", &config->network);
	config->allow_auto_converge = js_bool_at(obj, "allowAutoConverge",
						 config->allow_auto_converge);
	/* What lets post-copy happen lets the machine be disturbed, unless
	 * somebody says otherwise. */
	config->allow_post_copy =
		js_bool_at(obj, "allowPostCopy", config->allow_post_copy);
	if (json_is_boolean(js_at(obj, "allowPostCopy")))
		config->allow_workload_disruption = config->allow_post_copy;
	config->allow_workload_disruption =
		js_bool_at(obj, "allowWorkloadDisruption",
			   config->allow_workload_disruption);
	config->unsafe_override = js_bool_at(obj, "unsafeMigrationOverride",
					     config->unsafe_override);
	overlay_tristate(obj, "disableTLS", &config->disable_tls);
	overlay_tristate(obj, "matchSELinuxLevelOnMigration",
			 &config->match_selinux_level);
	if (experimental != NULL) {
		json_decref(config->experimental);
		config->experimental = json_incref(experimental);
	}
	return overlay_numbers(config, obj, err);
}

static void
set_tristate(json_t *obj, const char *name, enum tristate value)
{
	if (value != TRISTATE_UNSET)
		(void)json_object_set_new(obj, name,
					  json_boolean(value == TRISTATE_TRUE));
}

json_t *
migration_config_json(const struct migration_config *config)
{
	char bandwidth[QUANTITY_TEXT_SIZE];
	json_t *obj = json_pack(
		"{s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:b}",
		"nodeDrainTaintKey", config->node_drain_taint_key,
		"parallelMigrationsPerCluster",
		(json_int_t)config->parallel_cluster,
		"parallelOutboundMigrationsPerNode",
		(json_int_t)config->parallel_outbound, "bandwidthPerMigration",
		quantity_text(&config->bandwidth, bandwidth, sizeof(bandwidth)),
		"completionTimeoutPerGiB",
		(json_int_t)config->completion_timeout_per_gib,
		"progressTimeout", (json_int_t)config->progress_timeout_s,
		"utilityVolumesTimeout", (json_int_t)config->utility_timeout_s,
		"maxDowntimeMs", (json_int_t)config->max_downtime_ms,
		"allowAutoConverge", config->allow_auto_converge,
		"allowPostCopy", config->allow_post_copy,
		"allowWorkloadDisruption", config->allow_workload_disruption,
		"unsafeMigrationOverride", config->unsafe_override);

	set_tristate(obj, "disableTLS", config->disable_tls);
	set_tristate(obj, "matchSELinuxLevelOnMigration",
		     config->match_selinux_level);
	if (config->network[0] != '\0')
		(void)json_object_set_new(obj, "network",
					  json_string(config->network));
	if (config->experimental != NULL)
		(void)json_object_set(obj, "experimental",
				      config->experimental);
	return obj;
}
