/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of nodes, events and services. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/cell_internal.h"

#define ROLE_LABEL "node-role.kubernetes.io/"
#define ENDPOINTS_SHOWN 3

json_t *
cell_node_status(const struct column *column, const json_t *obj, int64_t now_s)
{
	const json_t *ready =
		js_find(js_arr_at(obj, "status.conditions"), "type", "Ready");
	struct buf out = BUF_INIT(CELL_TEXT_MAX);

	(void)column;
	(void)now_s;
	if (ready == NULL)
		(void)buf_append_str(&out, "Unknown");
	else
		(void)buf_append_str(
			&out, str_equal(js_str_at(ready, "status"), "True")
				      ? "Ready"
				      : "NotReady");
	if (js_bool_at(obj, "spec.unschedulable", false))
		(void)buf_append_str(&out, ",SchedulingDisabled");
	return cell_from_buf(&out, "");
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_t *
cell_node_roles(const struct column *column, const json_t *obj, int64_t now_s)
{
	json_t *labels = js_obj_at(obj, "metadata.labels"), *value;
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	AUTO(free_ptr)
	const char **roles =
		xcalloc(json_object_size(labels) + 1, sizeof(*roles));
	size_t count = 0;
	const char *name;

	(void)column;
	(void)now_s;
	json_object_foreach(labels, name, value)
	{
		if (str_has_prefix(name, ROLE_LABEL))
			roles[count] = name + strlen(ROLE_LABEL);
		else if (str_equal(name, "kubernetes.io/role"))
			roles[count] = json_string_value(value);
		count += roles[count] != NULL && *roles[count] != '\0';
	}
	qsort(roles, count, sizeof(*roles), compare_names);
	for (size_t i = 0; i < count; i++)
		cell_join(&out, ",", roles[i]);
	return cell_from_buf(&out, CELL_NONE);
}

static json_t *
node_address(const json_t *node, const char *type)
{
	const json_t *address =
		js_find(js_arr_at(node, "status.addresses"), "type", type);
	const char *text = js_str_at(address, "address");

	return json_string(*text != '\0' ? text : CELL_NONE);
}

json_t *
cell_node_internal_ip(const struct column *column, const json_t *obj,
		      int64_t now_s)
{
	(void)column;
	(void)now_s;
	return node_address(obj, "InternalIP");
}

json_t *
cell_node_external_ip(const struct column *column, const json_t *obj,
		      int64_t now_s)
{
	(void)column;
	(void)now_s;
	return node_address(obj, "ExternalIP");
}

/* ----------------------------------------------------------------- events */

/* Of a member that has another name in events.k8s.io. */
static const char *
event_text(const json_t *event, const char *core, const char *other)
{
	const char *text = js_str_at(event, core);

	return *text != '\0' ? text : js_str_at(event, other);
}

static const char *
event_first(const json_t *event)
{
	const char *first =
		event_text(event, "firstTimestamp", "deprecatedFirstTimestamp");

	return *first != '\0' ? first : js_str_at(event, "eventTime");
}

json_t *
cell_event_first(const struct column *column, const json_t *obj, int64_t now_s)
{
	(void)column;
	return cell_age(event_first(obj), now_s);
}

json_t *
cell_event_last(const struct column *column, const json_t *obj, int64_t now_s)
{
	const char *last = js_str_at(obj, "series.lastObservedTime");

	(void)column;
	if (*last == '\0')
		last = event_text(obj, "lastTimestamp",
				  "deprecatedLastTimestamp");
	return cell_age(*last != '\0' ? last : event_first(obj), now_s);
}

json_t *
cell_event_object(const struct column *column, const json_t *obj, int64_t now_s)
{
	const json_t *about = js_obj_at(obj, "involvedObject");
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	const char *kind;

	(void)column;
	(void)now_s;
	if (about == NULL)
		about = js_obj_at(obj, "regarding");
	kind = js_str_at(about, "kind");
	(void)buf_append_str(&out, kind);
	for (size_t i = 0; i < out.len; i++)
		out.data[i] = (uint8_t)tolower(out.data[i]);
	if (*js_str_at(about, "name") != '\0')
		(void)buf_printf(&out, "/%s", js_str_at(about, "name"));
	return cell_from_buf(&out, "");
}

json_t *
cell_event_source(const struct column *column, const json_t *obj, int64_t now_s)
{
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	const char *who = event_text(obj, "source.component",
				     "deprecatedSource.component");
	const char *host =
		event_text(obj, "source.host", "deprecatedSource.host");

	(void)column;
	(void)now_s;
	if (*who == '\0') {
		who = event_text(obj, "reportingComponent",
				 "reportingController");
		host = js_str_at(obj, "reportingInstance");
	}
	(void)buf_append_str(&out, who);
	if (*host != '\0')
		cell_join(&out, ", ", host);
	return cell_from_buf(&out, "");
}

json_t *
cell_event_message(const struct column *column, const json_t *obj,
		   int64_t now_s)
{
	const char *text = event_text(obj, "message", "note");
	size_t len;

	(void)column;
	(void)now_s;
	text += strspn(text, " \t\r\n");
	len = strlen(text);
	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
		len--;
	return json_stringn(text, len);
}

json_t *
cell_event_count(const struct column *column, const json_t *obj, int64_t now_s)
{
	int64_t count = js_int_at(obj, "series.count", 0);

	(void)column;
	(void)now_s;
	if (count == 0)
		count = js_int_at(obj, "count",
				  js_int_at(obj, "deprecatedCount", 1));
	return json_integer(count);
}

/* --------------------------------------------------------------- services */

static void
join_texts(struct buf *out, const json_t *list, const char *between)
{
	const json_t *text;
	size_t i;

	json_array_foreach(list, i, text)
	{
		if (json_is_string(text))
			cell_join(out, between, json_string_value(text));
	}
}

json_t *
cell_service_external(const struct column *column, const json_t *obj,
		      int64_t now_s)
{
	const char *type = js_str_at(obj, "spec.type");
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	const json_t *ingress;
	size_t i;

	(void)column;
	(void)now_s;
	if (str_equal(type, "ExternalName"))
		return json_string(js_str_at(obj, "spec.externalName"));
	if (str_equal(type, "LoadBalancer")) {
		json_array_foreach(
			js_arr_at(obj, "status.loadBalancer.ingress"), i,
			ingress)
		{
			const char *ip = js_str_at(ingress, "ip");

			cell_join(&out, ",",
				  *ip != '\0' ? ip
					      : js_str_at(ingress, "hostname"));
		}
	}
	join_texts(&out, js_arr_at(obj, "spec.externalIPs"), ",");
	return cell_from_buf(&out, str_equal(type, "LoadBalancer") ? "<pending>"
								   : CELL_NONE);
}

json_t *
cell_service_ports(const struct column *column, const json_t *obj,
		   int64_t now_s)
{
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	const json_t *port;
	size_t i;

	(void)column;
	(void)now_s;
	json_array_foreach(js_arr_at(obj, "spec.ports"), i, port)
	{
		long long node = js_int_at(port, "nodePort", 0);
		char text[64];

		(void)snprintf(text, sizeof(text), "%lld",
			       (long long)js_int_at(port, "port", 0));
		cell_join(&out, ",", text);
		if (node > 0)
			(void)buf_printf(&out, ":%lld", node);
		(void)buf_printf(&out, "/%s", js_str_at(port, "protocol"));
	}
	return cell_from_buf(&out, CELL_NONE);
}

json_t *
cell_service_selector(const struct column *column, const json_t *obj,
		      int64_t now_s)
{
	struct buf out = BUF_INIT(CELL_TEXT_MAX);

	(void)column;
	(void)now_s;
	cell_join_labels(&out, js_obj_at(obj, "spec.selector"));
	return cell_from_buf(&out, CELL_NONE);
}

/* Adds the addresses of a subset, those of the first ports; counts all. */
static void
join_subset(struct buf *out, const json_t *subset, size_t *count)
{
	const json_t *ports = js_arr_at(subset, "ports"), *address;
	size_t i, variants = json_array_size(ports);

	json_array_foreach(js_arr_at(subset, "addresses"), i, address)
	{
		for (size_t k = 0; k < (variants > 0 ? variants : 1); k++) {
			const json_t *port = json_array_get(ports, k);
			AUTO(free_ptr) char *text = NULL;

			if ((*count)++ >= ENDPOINTS_SHOWN)
				continue;
			text = port == NULL
				       ? xstrdup(js_str_at(address, "ip"))
				       : xasprintf("%s:%lld",
						   js_str_at(address, "ip"),
						   (long long)js_int_at(
							   port, "port", 0));
			cell_join(out, ",", text);
		}
	}
}

json_t *
cell_endpoints(const struct column *column, const json_t *obj, int64_t now_s)
{
	struct buf out = BUF_INIT(CELL_TEXT_MAX);
	const json_t *subset;
	size_t i, count = 0;

	(void)column;
	(void)now_s;
	json_array_foreach(js_arr_at(obj, "subsets"), i, subset)
		join_subset(&out, subset, &count);
	if (count > ENDPOINTS_SHOWN)
		(void)buf_printf(&out, " + %zu more...",
				 count - ENDPOINTS_SHOWN);
	return cell_from_buf(&out, CELL_NONE);
}
