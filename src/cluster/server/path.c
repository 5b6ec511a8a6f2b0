/* SPDX-License-Identifier: Apache-2.0 */

/* path - what is not a resource: discovery, OpenAPI, health, metrics. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/discovery.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/openapi.h"
#include "cluster/kinds/registry.h"
#include "cluster/server/call.h"
#include "cluster/server/read.h"
#include "cluster/server/server_internal.h"
#include "cluster/store/store.h"
#include "http/server.h"
#include "version.h"

#define TEXT_PLAIN "text/plain; charset=utf-8"
#define METRICS_MAX (4UL * 1024 * 1024)
/* The Kubernetes release whose answers these are. */
#define KUBERNETES_MAJOR "1"
#define KUBERNETES_MINOR "32"

static void
reply_str(struct call *call, int code, const char *text)
{
	call_reply_text(call, code, TEXT_PLAIN, text, strlen(text));
}

static void
version_run(struct call *call)
{
	json_t *version = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "major",
		KUBERNETES_MAJOR, "minor", KUBERNETES_MINOR, "gitVersion",
		"v" KUBERNETES_MAJOR "." KUBERNETES_MINOR
		".0+ferry-" FERRY_VERSION,
		"gitCommit", FERRY_COMMIT, "gitTreeState", "clean", "buildDate",
		"1970-01-01T00:00:00Z", "goVersion", "none", "compiler",
		"gcc " __VERSION__, "platform", "linux/amd64");

	call_reply_plain(call, 200, version);
	json_decref(version);
}

/* The checks are few: who can answer has a store and a registry. */
static void
health_run(struct call *call)
{
	const char *name = call->info.path + 1;
	bool ready = !server_is_draining(call->server);
	bool is_readyz = str_has_prefix(name, "readyz");
	char text[256];

	if (is_readyz && !ready) {
		reply_str(call, 500,
			  "[-]shutdown failed: reason withheld\n"
			  "readyz check failed\n");
		return;
	}
	if (query_get(&call->query, "verbose") == NULL) {
		reply_str(call, 200, "ok");
		return;
	}
	(void)snprintf(text, sizeof(text),
		       "[+]ping ok\n[+]log ok\n[+]store ok\n%s%.*s check "
		       "passed\n",
		       is_readyz ? "[+]shutdown ok\n" : "",
		       (int)strcspn(name, "/"), name);
	reply_str(call, 200, text);
}

static void
send_document(struct call *call, const struct document *document,
	      const struct http_header *extra, size_t count)
{
	const char *seen = call->http == NULL
				   ? NULL
				   : http_header(call->http, "If-None-Match");
	struct http_header headers[8] = {
		{ "Content-Type", document->content_type },
		{ "ETag", document->etag },
		{ "Vary", "Accept" },
	};
	size_t n = 3;

	if (call->http == NULL) {
		call_reply_text(call, 200, document->content_type,
				document->data, document->len);
		return;
	}
	for (size_t i = 0; i < count; i++)
		headers[n++] = extra[i];
	if (seen != NULL && str_equal(seen, document->etag)) {
		http_reply(call->http, 304, headers, n, NULL, 0);
		server_count(call->server, 304);
	} else {
		http_reply(call->http, 200, headers, n, document->data,
			   document->len);
		server_count(call->server, 200);
	}
	call_free(call);
}

static void
no_page(struct call *call)
{
	reply_str(call, 404, "404 page not found\n");
}

static void
discovery_run(struct call *call)
{
	static const struct http_header cache[] = {
		{ "Cache-Control", "public" },
	};
	const char *accept =
		call->http == NULL ? NULL : http_header(call->http, "Accept");
	char *path = xstrdup(call->info.path);
	const struct document *document;
	size_t len = strlen(path);

	if (len > 1 && path[len - 1] == '/')
		path[len - 1] = '\0';
	document = discovery_document(call->parts->discovery, path,
				      discovery_form(accept));
	free(path);
	if (document == NULL)
		no_page(call);
	else
		send_document(call, document, cache, 1);
}

static void
openapi_v2_run(struct call *call)
{
	const char *accept =
		call->http == NULL ? NULL : http_header(call->http, "Accept");
	bool protobuf = accept != NULL && strstr(accept, "protobuf") != NULL;

	send_document(call, openapi_v2(call->parts->openapi, protobuf), NULL,
		      0);
}

static void
redirect(struct call *call, const char *path, const char *hash)
{
	char *location = xasprintf("%s?hash=%s", path, hash);
	const struct http_header headers[] = { { "Location", location } };

	http_reply(call->http, 301, headers, 1, NULL, 0);
	server_count(call->server, 301);
	free(location);
	call_free(call);
}

static void
openapi_v3_run(struct call *call)
{
	static const char prefix[] = "/openapi/v3";
	static const struct http_header forever[] = {
		{ "Cache-Control", "public, immutable" },
	};
	const char *name = call->info.path + sizeof(prefix) - 1;
	const char *hash = query_get(&call->query, "hash");
	const struct document *document;

	while (*name == '/')
		name++;
	if (*name == '\0') {
		send_document(call, openapi_v3_index(call->parts->openapi),
			      NULL, 0);
		return;
	}
	document = openapi_v3(call->parts->openapi, name);
	if (document == NULL || (hash != NULL && call->http == NULL))
		no_page(call);
	else if (hash == NULL)
		send_document(call, document, NULL, 0);
	else if (str_equal(hash, document->hash))
		send_document(call, document, forever, 1);
	else
		redirect(call, call->info.path, document->hash);
}

struct metrics {
	struct buf out;
};

static bool
count_objects(struct kind *kind, void *arg)
{
	struct metrics *metrics = arg;

	if (kind->collection == NULL || kind->storage_kind != kind)
		return true;
	(void)buf_printf(&metrics->out,
			 "apiserver_storage_objects{resource=\"%s%s%s\"} %zu\n",
			 kind->plural, *kind->group == '\0' ? "" : ".",
			 kind->group, store_count(kind->collection, NULL));
	return true;
}

static void
add_metric(struct metrics *metrics, const char *name, const char *type,
	   uint64_t value)
{
	(void)buf_printf(&metrics->out, "# TYPE %s %s\n%s %" PRIu64 "\n", name,
			 type, name, value);
}

static void
metrics_run(struct call *call)
{
	struct metrics metrics = { BUF_INIT(METRICS_MAX) };
	const struct server_stats *stats = server_stats(call->server);
	const struct watch_stats *watches =
		watches_stats(server_watches(call->server));

	(void)buf_append_str(&metrics.out,
			     "# TYPE ferry_cluster_responses_total counter\n");
	for (unsigned i = 1; i < ARRAY_LEN(stats->by_class); i++)
		(void)buf_printf(&metrics.out,
				 "ferry_cluster_responses_total{code=\"%uxx\"} "
				 "%" PRIu64 "\n",
				 i, stats->by_class[i]);
	add_metric(&metrics, "ferry_cluster_watches", "gauge",
		   watches->running);
	add_metric(&metrics, "ferry_cluster_watch_events_total", "counter",
		   watches->events);
	add_metric(&metrics, "ferry_cluster_watches_too_slow_total", "counter",
		   watches->too_slow);
	add_metric(&metrics, "ferry_cluster_store_revision", "gauge",
		   store_durable_rv(call->parts->store));
	add_metric(&metrics, "ferry_cluster_uptime_seconds", "gauge",
		   (loop_now_ms() - stats->started_ms) / 1000);
	(void)buf_append_str(&metrics.out,
			     "# TYPE apiserver_storage_objects gauge\n");
	registry_each(call->parts->registry, count_objects, &metrics);
	call_reply_text(call, 200, "text/plain; version=0.0.4",
			(const char *)metrics.out.data, metrics.out.len);
	buf_done(&metrics.out);
}

static void
root_run(struct call *call)
{
	json_t *paths =
		json_pack("{s:[s,s,s,s,s,s,s,s,s]}", "paths", "/api", "/apis",
			  "/healthz", "/livez", "/metrics", "/openapi/v2",
			  "/openapi/v3", "/readyz", "/version");

	call_reply_plain(call, 200, paths);
	json_decref(paths);
}

static const struct {
	const char *path;
	bool below; /* also for what lies below it */
	void (*run)(struct call *call);
} paths[] = {
	{ "/", false, root_run },
	{ "/version", false, version_run },
	{ "/healthz", true, health_run },
	{ "/livez", true, health_run },
	{ "/readyz", true, health_run },
	{ "/metrics", false, metrics_run },
	{ "/api", true, discovery_run },
	{ "/apis", true, discovery_run },
	{ "/openapi/v2", false, openapi_v2_run },
	{ "/openapi/v3", true, openapi_v3_run },
};

static bool
leads_to(const char *path, size_t i)
{
	size_t len = strlen(paths[i].path);

	if (str_equal(path, paths[i].path))
		return true;
	return str_has_prefix(path, paths[i].path) && path[len] == '/' &&
	       (paths[i].below || path[len + 1] == '\0');
}

void
path_run(struct call *call)
{
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (!leads_to(call->info.path, i))
			continue;
		if (str_equal(call->info.method, "get") ||
		    str_equal(call->info.method, "head")) {
			paths[i].run(call);
			return;
		}
		(void)status_method_not_allowed(&call->st, NULL, NULL);
		call_fail(call);
		return;
	}
	no_page(call);
}
