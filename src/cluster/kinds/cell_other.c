/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of storage, quotas, roles and the rest. */
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/cell_internal.h"

#define DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"

static json_t *
modes(const json_t *list)
{
	static const struct {
		const char *name, *shown;
	} names[] = { { "ReadWriteOnce", "RWO" },
		      { "ReadOnlyMany", "ROX" },
		      { "ReadWriteMany", "RWX" },
		      { "ReadWriteOncePod", "RWOP" } };
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	const json_t *mode;
	size_t i;

	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		json_array_foreach(list, i, mode)
		{
			if (!str_equal(json_string_value(mode), names[k].name))
				continue;
			cell_join(&out, ",", names[k].shown);
			break;
		}
	}
	return cell_from_buf(&out, "");
}

json_t *
cell_spec_modes(const struct column *column, const json_t *obj, int64_t now_s)
{
	(void)column;
	(void)now_s;
	return modes(js_arr_at(obj, "spec.accessModes"));
}

json_t *
cell_status_modes(const struct column *column, const json_t *obj, int64_t now_s)
{
	(void)column;
	(void)now_s;
	return modes(js_arr_at(obj, "status.accessModes"));
}

json_t *
cell_phase(const struct column *column, const json_t *obj, int64_t now_s)
{
	(void)column;
	(void)now_s;
	if (*js_str_at(obj, "metadata.deletionTimestamp") != '\0')
		return json_string("Terminating");
	return json_string(js_str_at(obj, "status.phase"));
}

json_t *
cell_volume_claim(const struct column *column, const json_t *obj, int64_t now_s)
{
	const json_t *claim = js_obj_at(obj, "spec.claimRef");
	struct buf out = BUF_INIT(CELL_TEXT_MAX);

	(void)column;
	(void)now_s;
	if (claim != NULL)
		(void)buf_printf(&out, "%s/%s", js_str_at(claim, "namespace"),
				 js_str_at(claim, "name"));
	return cell_from_buf(&out, "");
}

/* "pods: 1/2, requests.cpu: 1/4" in the order of the status. */
static json_t *
quota(const json_t *obj, bool limits)
{
	json_t *hard = js_obj_at(obj, "status.hard"), *value;
	const json_t *used = js_obj_at(obj, "status.used");
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	const char *name;

	json_object_foreach(hard, name, value)
	{
		const char *amount =
			json_string_value(json_object_get(used, name));

		if (str_has_prefix(name, "limits") != limits)
			continue;
		cell_join(&out, ", ", name);
		(void)buf_printf(
			&out, ": %s/%s", amount != NULL ? amount : "0",
			json_is_string(value) ? json_string_value(value) : "");
	}
	return cell_from_buf(&out, "");
}

json_t *
cell_quota_requests(const struct column *column, const json_t *obj,
		    int64_t now_s)
{
	(void)column;
	(void)now_s;
	return quota(obj, false);
}

json_t *
cell_quota_limits(const struct column *column, const json_t *obj, int64_t now_s)
{
	(void)column;
	(void)now_s;
	return quota(obj, true);
}

json_t *
cell_role_ref(const struct column *column, const json_t *obj, int64_t now_s)
{
	struct buf out = BUF_INIT(CELL_TEXT_MAX);

	(void)column;
	(void)now_s;
	(void)buf_printf(&out, "%s/%s", js_str_at(obj, "roleRef.kind"),
			 js_str_at(obj, "roleRef.name"));
	return cell_from_buf(&out, "");
}

static json_t *
subjects(const json_t *obj, const char *kind)
{
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	const json_t *subject;
	size_t i;

	json_array_foreach(js_arr_at(obj, "subjects"), i, subject)
	{
		AUTO(free_ptr) char *text = NULL;
		const char *space = js_str_at(subject, "namespace");

		if (!str_equal(js_str_at(subject, "kind"), kind))
			continue;
		text = *space != '\0' ? xasprintf("%s/%s", space,
						  js_str_at(subject, "name"))
				      : xstrdup(js_str_at(subject, "name"));
		cell_join(&out, ", ", text);
	}
	return cell_from_buf(&out, "");
}

json_t *
cell_subjects_users(const struct column *column, const json_t *obj,
		    int64_t now_s)
{
	(void)column;
	(void)now_s;
	return subjects(obj, "User");
}

json_t *
cell_subjects_groups(const struct column *column, const json_t *obj,
		     int64_t now_s)
{
	(void)column;
	(void)now_s;
	return subjects(obj, "Group");
}

json_t *
cell_subjects_accounts(const struct column *column, const json_t *obj,
		       int64_t now_s)
{
	(void)column;
	(void)now_s;
	return subjects(obj, "ServiceAccount");
}

json_t *
cell_apiservice_service(const struct column *column, const json_t *obj,
			int64_t now_s)
{
	const json_t *service = js_obj_at(obj, "spec.service");
	struct buf out = BUF_INIT(CELL_TEXT_MAX);

	(void)column;
	(void)now_s;
	if (service != NULL)
		(void)buf_printf(&out, "%s/%s", js_str_at(service, "namespace"),
				 js_str_at(service, "name"));
	return cell_from_buf(&out, "Local");
}

json_t *
cell_apiservice_available(const struct column *column, const json_t *obj,
			  int64_t now_s)
{
	const json_t *condition = js_find(js_arr_at(obj, "status.conditions"),
					  "type", "Available");
	const char *status = js_str_at(condition, "status");
	struct buf out = BUF_INIT(CELL_TEXT_MAX);

	(void)column;
	(void)now_s;
	if (*status != '\0')
		(void)buf_append_str(&out, status);
	if (*status != '\0' && !str_equal(status, "True") &&
	    *js_str_at(condition, "reason") != '\0')
		(void)buf_printf(&out, " (%s)", js_str_at(condition, "reason"));
	return cell_from_buf(&out, "Unknown");
}

json_t *
cell_count_data(const struct column *column, const json_t *obj, int64_t now_s)
{
	size_t count = json_object_size(js_obj_at(obj, "data")) +
		       json_object_size(js_obj_at(obj, "binaryData"));

	(void)column;
	(void)now_s;
	return json_integer((json_int_t)count);
}

json_t *
cell_count_secrets(const struct column *column, const json_t *obj,
		   int64_t now_s)
{
	(void)column;
	(void)now_s;
	return json_integer(
		(json_int_t)json_array_size(js_arr_at(obj, "secrets")));
}

json_t *
cell_count_webhooks(const struct column *column, const json_t *obj,
		    int64_t now_s)
{
	(void)column;
	(void)now_s;
	return json_integer(
		(json_int_t)json_array_size(js_arr_at(obj, "webhooks")));
}

json_t *
cell_created(const struct column *column, const json_t *obj, int64_t now_s)
{
	(void)column;
	(void)now_s;
	return json_string(js_str_at(obj, "metadata.creationTimestamp"));
}

static void
join_requirement(struct buf *out, const json_t *requirement)
{
	const char *op = js_str_at(requirement, "operator");
	const char *key = js_str_at(requirement, "key");
	const json_t *value;
	size_t i;

	if (str_equal(op, "DoesNotExist"))
		cell_join(out, ",", "!");
	cell_join(out, str_equal(op, "DoesNotExist") ? "" : ",", key);
	if (!str_equal(op, "In") && !str_equal(op, "NotIn"))
		return;
	(void)buf_append_str(out, str_equal(op, "In") ? " in (" : " notin (");
	json_array_foreach(js_arr_at(requirement, "values"), i, value)(void)
		buf_printf(out, "%s%s", i > 0 ? "," : "",
			   json_is_string(value) ? json_string_value(value)
						 : "");
	(void)buf_append_str(out, ")");
}

json_t *
cell_pod_selector(const struct column *column, const json_t *obj, int64_t now_s)
{
	const json_t *selector = js_obj_at(obj, "spec.podSelector"), *one;
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	size_t i;

	(void)column;
	(void)now_s;
	cell_join_labels(&out, js_obj_at(selector, "matchLabels"));
	json_array_foreach(js_arr_at(selector, "matchExpressions"), i, one)
		join_requirement(&out, one);
	return cell_from_buf(&out, CELL_NONE);
}

json_t *
cell_storageclass_name(const struct column *column, const json_t *obj,
		       int64_t now_s)
{
	const json_t *notes = js_obj_at(obj, "metadata.annotations");
	struct buf out = BUF_INIT(CELL_TEXT_MAX);

	(void)column;
	(void)now_s;
	(void)buf_append_str(&out, js_str_at(obj, "metadata.name"));
	if (str_equal(json_string_value(json_object_get(notes, DEFAULT_CLASS)),
		      "true"))
		(void)buf_append_str(&out, " (default)");
	return cell_from_buf(&out, "");
}
