/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/server/logwhere.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/server/query.h"
#include "meta/causes.h"
#include "meta/gofmt.h"
#include "meta/status.h"
#include "meta/time.h"

#define KUBELET_PORT_DEFAULT 10250

void
log_where_done(struct log_where *where)
{
	free(where->container);
	free(where->query);
	free(where->url);
	*where = (struct log_where){ 0 };
}

/* In the order in which they start. */
static const char *const container_lists[] = {
	"spec.initContainers",
	"spec.containers",
	"spec.ephemeralContainers",
};

static bool
has_container(const json_t *pod, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(container_lists); i++) {
		if (js_find(js_arr_at(pod, container_lists[i]), "name", name) !=
		    NULL)
			return true;
	}
	return false;
}

/* "[a b]", all of them. */
static char *
container_names(const json_t *pod)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	const json_t *container;
	size_t i;

	for (size_t k = 0; k < ARRAY_LEN(container_lists); k++) {
		json_array_foreach(js_arr_at(pod, container_lists[k]), i,
				   container)
		{
			(void)buf_printf(&out, "%s%s", out.len == 0 ? "[" : " ",
					 js_str_at(container, "name"));
		}
	}
	(void)buf_append_str(&out, "]");
	return (char *)out.data;
}

static int
choose_container(const char *wanted, const json_t *pod, char **ret,
		 struct status *st)
{
	const json_t *containers = js_arr_at(pod, "spec.containers");
	const char *name = js_str_at(pod, "metadata.name");
	AUTO(free_ptr) char *names = NULL;

	if (wanted != NULL && *wanted != '\0') {
		if (!has_container(pod, wanted))
			return status_bad_request(
				st, "container %s is not valid for pod %s",
				wanted, name);
		*ret = xstrdup(wanted);
		return 0;
	}
	if (json_array_size(containers) == 1) {
		*ret = xstrdup(
			js_str_at(json_array_get(containers, 0), "name"));
		return 0;
	}
	names = container_names(pod);
	return status_bad_request(st,
				  "a container name must be specified for pod "
				  "%s, choose one of: %s",
				  name, names);
}

static void
put(struct buf *out, const char *key, const char *value)
{
	(void)buf_printf(out, "%s%s=%s", out->len == 0 ? "" : "&", key, value);
}

static int
parse_number(const char *text, int64_t *ret, struct status *st)
{
	AUTO(free_ptr) char *quoted = NULL;
	long long value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno == 0 && *end == '\0' && *text > ' ') {
		*ret = value;
		return 0;
	}
	quoted = gofmt_quote(text);
	return status_bad_request(
		st, "strconv.ParseInt: parsing %s: %s", quoted,
		errno == ERANGE ? "value out of range" : "invalid syntax");
}

/* A number that must be at least min, if it is there at all. */
static int
put_number(struct buf *out, const struct query *query, const char *key,
	   int64_t min, struct causes *causes, struct status *st)
{
	const char *text = query_get(query, key);
	AUTO(js_unref) json_t *shown = NULL;
	char number[24];
	int64_t value = 0;

	if (text == NULL || *text == '\0')
		return 0;
	if (parse_number(text, &value, st) == -1)
		return -1;
	if (value < min) {
		shown = json_integer(value);
		causes_invalid(causes, key, shown,
			       min == 0 ? "must be greater than or equal to 0"
					: "must be greater than 0");
	}
	(void)snprintf(number, sizeof(number), "%" PRId64, value);
	put(out, key, number);
	return 0;
}

/* "2026-11-16T03:48:24Z" is not to be taken for a port. */
static void
put_time(struct buf *out, const char *key, int64_t us)
{
	char text[TIME_TEXT_SIZE];
	struct buf encoded = BUF_INIT(BUF_UNLIMITED);

	(void)time_text(us, text);
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == ':')
			(void)buf_append_str(&encoded, "%3A");
		else
			(void)buf_append(&encoded, c, 1);
	}
	put(out, key, (const char *)encoded.data);
	buf_done(&encoded);
}

static int
put_since(struct buf *out, const struct query *query, struct causes *causes,
	  struct status *st)
{
	const char *since = query_get(query, "sinceTime");
	size_t before = out->len;
	struct err err;
	int64_t us;

	if (put_number(out, query, "sinceSeconds", 1, causes, st) == -1)
		return -1;
	if (since == NULL || *since == '\0')
		return 0;
	if (time_parse(since, &us, &err) == -1)
		return status_bad_request(st, "sinceTime: %s", err.text);
	if (out->len > before)
		causes_forbidden(causes, "",
				 "at most one of `sinceTime` or `sinceSeconds` "
				 "may be specified");
	put_time(out, "sinceTime", us);
	return 0;
}

int
log_where_options(const struct query *query, const json_t *pod,
		  struct log_where *where, struct status *st)
{
	static const char *const flags[] = { "follow", "previous",
					     "timestamps" };
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	AUTO(buf_done) struct buf out = BUF_INIT(BUF_UNLIMITED);

	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (query_bool(query, flags[i]))
			put(&out, flags[i], "true");
	}
	if (put_since(&out, query, &causes, st) == -1 ||
	    put_number(&out, query, "tailLines", 0, &causes, st) == -1 ||
	    put_number(&out, query, "limitBytes", 1, &causes, st) == -1)
		return -1;
	if (causes_count(&causes) > 0)
		return status_invalid(st, "", "PodLogOptions",
				      js_str_at(pod, "metadata.name"), &causes);
	where->insecure = query_bool(query, "insecureSkipTLSVerifyBackend");
	where->query = xstrdup(out.len == 0 ? "" : (const char *)out.data);
	return choose_container(query_get(query, "container"), pod,
				&where->container, st);
}

/* NULL when the node tells none. */
static const char *
node_address(const json_t *node)
{
	static const char *const types[] = { "InternalIP", "ExternalIP",
					     "Hostname" };
	const json_t *addresses = js_arr_at(node, "status.addresses");

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const json_t *entry = js_find(addresses, "type", types[i]);

		if (entry != NULL && *js_str_at(entry, "address") != '\0')
			return js_str_at(entry, "address");
	}
	return NULL;
}

/* A node says it about itself: it must not become another URL. */
static bool
is_host(const char *address)
{
	return strspn(address,
		      "0123456789abcdefghijklmnopqrstuvwxyz"
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZ.:-") == strlen(address);
}

int
log_where_node(const json_t *node, const json_t *pod, struct log_where *where,
	       struct status *st)
{
	int64_t port = js_int_at(node,
				 "status.daemonEndpoints.kubeletEndpoint."
				 "Port",
				 0);
	const char *address = node_address(node);
	bool brackets;

	if (address == NULL || !is_host(address))
		return status_set(st, 500, NULL,
				  "node %s has no address that can be used",
				  js_str_at(node, "metadata.name"));
	if (port <= 0 || port > UINT16_MAX)
		port = KUBELET_PORT_DEFAULT;
	brackets = strchr(address, ':') != NULL;
	where->url = xasprintf(
		"https://%s%s%s:%" PRId64 "/containerLogs/%s/%s/%s%s%s",
		brackets ? "[" : "", address, brackets ? "]" : "", port,
		js_str_at(pod, "metadata.namespace"),
		js_str_at(pod, "metadata.name"), where->container,
		*where->query == '\0' ? "" : "?", where->query);
	return 0;
}
