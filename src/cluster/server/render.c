/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/str.h"
#include "cluster/kinds/cell.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/query.h"
#include "cluster/server/render.h"
#include "cluster/server/stored.h"
#include "cluster/store/object.h"
#include "meta/causes.h"
#include "meta/status.h"
#include "meta/time.h"

int
render_init(const struct accept *accept, const struct kind_version *version,
	    const struct query *query, struct render *ret, struct status *st)
{
	const char *include = query_get(query, "includeObject");

	*ret = (struct render){ .shape = accept->shape,
				.meta_version = accept->version,
				.version = version };
	if (accept->shape != ACCEPT_TABLE || include == NULL ||
	    *include == '\0' || str_equal(include, "Metadata"))
		return 0;
	if (str_equal(include, "Object"))
		ret->include = RENDER_OBJECT;
	else if (str_equal(include, "None"))
		ret->include = RENDER_NONE;
	else {
		return status_bad_request(
			st,
			"Unable to convert to Table as requested: "
			"includeObject: Invalid value: \"%s\": must be "
			"'Metadata', 'Object', 'None', or empty",
			include);
	}
	return 0;
}

static void
append_sorted(struct buf *out, const json_t *json)
{
	size_t len;
	char *text = js_text_sorted(json, &len);

	(void)buf_append(out, text, len);
	free(text);
}

static void
append_object(const struct render *render, const struct object *object,
	      struct buf *out)
{
	json_t *json;

	if (stored_is_plain(render->version, object)) {
		(void)buf_append(out, object->text, object->len);
		return;
	}
	json = stored_load(render->version, object);
	append_sorted(out, json);
	json_decref(json);
}

static void
append_partial_head(const struct render *render, struct buf *out)
{
	(void)buf_printf(out,
			 "{\"kind\":\"PartialObjectMetadata\","
			 "\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":",
			 render->meta_version);
}

static void
append_partial(const struct render *render, const struct object *object,
	       struct buf *out)
{
	struct span text = { object->text, object->len };
	struct span meta;

	append_partial_head(render, out);
	if (scan_member(text, "metadata", &meta))
		(void)buf_append(out, meta.text, meta.len);
	else
		(void)buf_append_str(out, "{}");
	(void)buf_append_str(out, "}");
}

static void
append_partial_json(const struct render *render, const json_t *object,
		    struct buf *out)
{
	append_partial_head(render, out);
	append_sorted(out, json_object_get(object, "metadata"));
	(void)buf_append_str(out, "}");
}

static void
append_cells(const struct render *render, const json_t *object, struct buf *out)
{
	const struct kind_version *version = render->version;
	int64_t now = time_now_us() / TIME_US_PER_SECOND;
	json_t *cells = json_array();

	for (size_t i = 0; i < version->column_count; i++)
		json_array_append_new(
			cells, cell_value(&version->columns[i], object, now));
	append_sorted(out, cells);
	json_decref(cells);
}

static void
append_row(const struct render *render, const json_t *object, struct buf *out)
{
	(void)buf_append_str(out, "{\"cells\":");
	append_cells(render, object, out);
	(void)buf_append_str(out, ",\"object\":");
	switch (render->include) {
	case RENDER_OBJECT:
		append_sorted(out, object);
		break;
	case RENDER_METADATA:
		append_partial_json(render, object, out);
		break;
	case RENDER_NONE:
		(void)buf_append_str(out, "null");
		break;
	}
	(void)buf_append_str(out, "}");
}

void
render_item_json(const struct render *render, const json_t *object,
		 struct buf *out)
{
	switch (render->shape) {
	case ACCEPT_OBJECT:
		append_sorted(out, object);
		break;
	case ACCEPT_PARTIAL:
		append_partial_json(render, object, out);
		break;
	case ACCEPT_TABLE:
		append_row(render, object, out);
		break;
	}
}

void
render_item(const struct render *render, const struct object *object,
	    struct buf *out)
{
	json_t *json;

	switch (render->shape) {
	case ACCEPT_OBJECT:
		append_object(render, object, out);
		break;
	case ACCEPT_PARTIAL:
		append_partial(render, object, out);
		break;
	case ACCEPT_TABLE:
		json = stored_load(render->version, object);
		append_row(render, json, out);
		json_decref(json);
		break;
	}
}

static json_t *
columns_json(const struct kind_version *version)
{
	json_t *list = json_array();

	for (size_t i = 0; i < version->column_count; i++) {
		const struct column *column = &version->columns[i];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s, s:i}", "name",
					column->name, "type", column->type,
					"format", column->format, "description",
					column->description, "priority",
					column->priority));
	}
	return list;
}

static void
append_columns(const struct render *render, bool columns, struct buf *out)
{
	json_t *list;

	(void)buf_append_str(out, "\"columnDefinitions\":");
	if (!columns) {
		(void)buf_append_str(out, "null");
		return;
	}
	list = columns_json(render->version);
	append_sorted(out, list);
	json_decref(list);
}

/* A Table around one object. */
static void
append_table(const struct render *render, const json_t *object, bool columns,
	     struct buf *out)
{
	const char *rv = json_string_value(json_object_get(
		json_object_get(object, "metadata"), "resourceVersion"));

	(void)buf_printf(out,
			 "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\""
			 ",\"metadata\":{\"resourceVersion\":\"%s\"},",
			 render->meta_version, rv == NULL ? "" : rv);
	append_columns(render, columns, out);
	(void)buf_append_str(out, ",\"rows\":[");
	append_row(render, object, out);
	(void)buf_append_str(out, "]}");
}

void
render_one_json(const struct render *render, const json_t *object, bool columns,
		struct buf *out)
{
	if (render->shape == ACCEPT_TABLE)
		append_table(render, object, columns, out);
	else
		render_item_json(render, object, out);
}

void
render_one(const struct render *render, const struct object *object,
	   bool columns, struct buf *out)
{
	json_t *json;

	if (render->shape != ACCEPT_TABLE) {
		render_item(render, object, out);
		return;
	}
	json = stored_load(render->version, object);
	append_table(render, json, columns, out);
	json_decref(json);
}

static void
append_list_meta(const struct render_list *list, struct buf *out)
{
	(void)buf_printf(out,
			 "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"",
			 list->rv);
	if (*list->continue_ != '\0')
		(void)buf_printf(out, ",\"continue\":\"%s\"", list->continue_);
	if (list->has_remaining)
		(void)buf_printf(out, ",\"remainingItemCount\":%" PRIu64,
				 list->remaining);
	(void)buf_append_str(out, "},");
}

void
render_list_head(const struct render *render, const struct render_list *list,
		 struct buf *out)
{
	const struct kind_version *version = render->version;

	switch (render->shape) {
	case ACCEPT_OBJECT:
		(void)buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",",
				 version->kind->list_kind,
				 version->api_version);
		append_list_meta(list, out);
		(void)buf_append_str(out, "\"items\":[");
		break;
	case ACCEPT_PARTIAL:
		(void)buf_printf(out,
				 "{\"kind\":\"PartialObjectMetadataList\","
				 "\"apiVersion\":\"meta.k8s.io/%s\",",
				 render->meta_version);
		append_list_meta(list, out);
		(void)buf_append_str(out, "\"items\":[");
		break;
	case ACCEPT_TABLE:
		(void)buf_printf(out,
				 "{\"kind\":\"Table\",\"apiVersion\":"
				 "\"meta.k8s.io/%s\",",
				 render->meta_version);
		append_list_meta(list, out);
		append_columns(render, true, out);
		(void)buf_append_str(out, ",\"rows\":[");
		break;
	}
}

void
render_list_tail(struct buf *out)
{
	(void)buf_append_str(out, "]}\n");
}

void
render_bookmark(const struct render *render, uint64_t rv, bool initial,
		struct buf *out)
{
	static const char initial_end[] =
		",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";
	const char *kind = render->version->kind->kind;
	const char *api_version = render->version->api_version;

	if (render->shape == ACCEPT_TABLE) {
		(void)buf_printf(out,
				 "{\"kind\":\"Table\",\"apiVersion\":"
				 "\"meta.k8s.io/%s\",\"metadata\":"
				 "{\"resourceVersion\":\"%" PRIu64 "\"%s},"
				 "\"columnDefinitions\":null,\"rows\":[]}",
				 render->meta_version, rv,
				 initial ? initial_end : "");
		return;
	}
	if (render->shape == ACCEPT_PARTIAL) {
		kind = "PartialObjectMetadata";
		api_version = "meta.k8s.io/v1";
	}
	(void)buf_printf(out,
			 "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":"
			 "{\"resourceVersion\":\"%" PRIu64
			 "\",\"creationTimestamp\":null%s}}",
			 kind, api_version, rv, initial ? initial_end : "");
}
