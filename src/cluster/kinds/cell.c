/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/cell.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/str.h"
#include "cluster/kinds/cell_internal.h"
#include "meta/jsonpath.h"
#include "meta/time.h"

json_t *
cell_from_buf(struct buf *out, const char *otherwise)
{
	json_t *cell =
		json_string(out->len > 0 ? (const char *)out->data : otherwise);

	buf_done(out);
	return cell;
}

void
cell_join(struct buf *out, const char *between, const char *text)
{
	if (out->len > 0)
		(void)buf_append_str(out, between);
	(void)buf_append_str(out, text);
}

void
cell_join_labels(struct buf *out, const json_t *labels)
{
	size_t count = json_object_size(labels), i = 0;
	const char *name;
	json_t *value;

	if (count == 0)
		return;
	json_object_foreach((json_t *)(uintptr_t)labels, name, value)
	{
		cell_join(out, ",", name);
		(void)buf_printf(
			out, "=%s",
			json_is_string(value) ? json_string_value(value) : "");
		i++;
	}
}

json_t *
cell_age(const char *time, int64_t now_s)
{
	char buf[TIME_TEXT_SIZE];

	return json_string(time_age(time, now_s * TIME_US_PER_SECOND, buf));
}

/* A value in a column of texts: what is no text is shown as JSON. */
static json_t *
as_text(json_t *value)
{
	json_t *cell;
	char *text;

	if (json_is_string(value))
		return json_incref(value);
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	cell = json_string(text != NULL ? text : "");
	free(text);
	return cell;
}

static json_t *
as_type(const char *type, json_t *value, int64_t now_s)
{
	if (value == NULL || json_is_null(value))
		return json_null();
	if (str_equal(type, "date"))
		return json_is_string(value)
			       ? cell_age(json_string_value(value), now_s)
			       : json_null();
	if (str_equal(type, "integer"))
		return json_is_number(value)
			       ? json_integer(
					 (json_int_t)json_number_value(value))
			       : json_null();
	if (str_equal(type, "number"))
		return json_is_number(value) ? json_incref(value) : json_null();
	if (str_equal(type, "boolean"))
		return json_is_boolean(value) ? json_incref(value)
					      : json_null();
	return as_text(value);
}

json_t *
cell_value(const struct column *column, const json_t *obj, int64_t now_s)
{
	if (column->compute != NULL)
		return column->compute(column, obj, now_s);
	return as_type(column->type, jsonpath_first(column->path, obj), now_s);
}

/* What is at the path, or a fixed value. */
static json_t *
or_else(const struct column *column, const json_t *obj, json_t *otherwise)
{
	json_t *value = jsonpath_first(column->path, obj);

	if (value == NULL || json_is_null(value) ||
	    (json_is_string(value) && json_string_length(value) == 0))
		return otherwise;
	json_decref(otherwise);
	return as_type(column->type, value, 0);
}

#define OR_ELSE(name, otherwise)                                   \
	static json_t *or_##name(const struct column *column,      \
				 const json_t *obj, int64_t now_s) \
	{                                                          \
		(void)now_s;                                       \
		return or_else(column, obj, otherwise);            \
	}

OR_ELSE(none, json_string(CELL_NONE))
OR_ELSE(unknown, json_string("<unknown>"))
OR_ELSE(unset, json_string("<unset>"))
OR_ELSE(na, json_string("N/A"))
OR_ELSE(zero, json_integer(0))
OR_ELSE(false, json_false())
OR_ELSE(delete, json_string("Delete"))
OR_ELSE(immediate, json_string("Immediate"))

static const struct {
	const char *name;
	cell_fn *fn;
} computations[] = {
	{ "or-none", or_none },
	{ "or-unknown", or_unknown },
	{ "or-unset", or_unset },
	{ "or-na", or_na },
	{ "or-zero", or_zero },
	{ "or-false", or_false },
	{ "or-delete", or_delete },
	{ "or-immediate", or_immediate },
	{ "pod-ready", cell_pod_ready },
	{ "pod-status", cell_pod_status },
	{ "pod-restarts", cell_pod_restarts },
	{ "pod-gates", cell_pod_gates },
	{ "node-status", cell_node_status },
	{ "node-roles", cell_node_roles },
	{ "node-internal-ip", cell_node_internal_ip },
	{ "node-external-ip", cell_node_external_ip },
	{ "event-last", cell_event_last },
	{ "event-first", cell_event_first },
	{ "event-object", cell_event_object },
	{ "event-source", cell_event_source },
	{ "event-message", cell_event_message },
	{ "event-count", cell_event_count },
	{ "service-external", cell_service_external },
	{ "service-ports", cell_service_ports },
	{ "service-selector", cell_service_selector },
	{ "endpoints", cell_endpoints },
	{ "spec-modes", cell_spec_modes },
	{ "status-modes", cell_status_modes },
	{ "phase", cell_phase },
	{ "volume-claim", cell_volume_claim },
	{ "quota-requests", cell_quota_requests },
	{ "quota-limits", cell_quota_limits },
	{ "role-ref", cell_role_ref },
	{ "subjects-users", cell_subjects_users },
	{ "subjects-groups", cell_subjects_groups },
	{ "subjects-accounts", cell_subjects_accounts },
	{ "apiservice-service", cell_apiservice_service },
	{ "apiservice-available", cell_apiservice_available },
	{ "count-data", cell_count_data },
	{ "count-secrets", cell_count_secrets },
	{ "count-webhooks", cell_count_webhooks },
	{ "created", cell_created },
	{ "pod-selector", cell_pod_selector },
	{ "storageclass-name", cell_storageclass_name },
};

cell_fn *
cell_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(computations); i++) {
		if (str_equal(computations[i].name, name))
			return computations[i].fn;
	}
	return NULL;
}
