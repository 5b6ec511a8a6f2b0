/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/route.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/server.h"
#include "kube/client.h"
#include "webhook/admit.h"
#include "webhook/api.h"
#include "webhook/discovery.h"
#include "webhook/sub.h"
#include "webhook/ui.h"

static void
reply_text(struct http_request *http, int code, const char *type,
	   const char *text)
{
	const struct http_header headers[] = {
		{ "Content-Type", type },
		{ "X-Content-Type-Options", "nosniff" },
	};

	http_reply(http, code, headers, 2, text, strlen(text));
}

static void
reply_plain(struct http_request *http, int code, const char *text)
{
	reply_text(http, code, "text/plain; charset=utf-8", text);
}

static void
reply_metrics(const struct api *api, struct http_request *http)
{
	struct buf buf = BUF_INIT(ROUTE_METRICS_MAX);

	stats_write(&api->stats, http_server_stats(api->http),
		    kube_client_stats(api->client), &buf);
	reply_text(http, 200, "text/plain; version=0.0.4; charset=utf-8",
		   (const char *)buf.data);
	buf_done(&buf);
}

/* What is about the program itself. False when the path is something else. */
static bool
handle_own(const struct api *api, struct http_request *http)
{
	const char *missing = api_missing(api);

	if (strcmp(http->path, "/healthz") == 0 ||
	    strcmp(http->path, "/livez") == 0)
		reply_plain(http, 200, "ok");
	else if (strcmp(http->path, "/readyz") == 0)
		reply_plain(http, missing == NULL ? 200 : 503,
			    missing == NULL ? "ok" : missing);
	else if (strcmp(http->path, "/metrics") == 0)
		reply_metrics(api, http);
	else
		return false;
	return true;
}

static bool
is_read(const struct http_request *http)
{
	return strcmp(http->method, "GET") == 0 ||
	       strcmp(http->method, "HEAD") == 0;
}

void
route_handle(struct http_request *http, void *arg)
{
	struct api *api = arg;
	const struct admit_route *admit = admit_find(http->path);
	AUTO(js_unref) json_t *document = NULL;
	struct sub_path sub;
	struct ui_file file;

	if (admit != NULL) {
		admit_handle(admit, api, http);
		return;
	}
	if (sub_parse(http->path, &sub)) {
		sub_handle(&sub, api, http);
		return;
	}
	if (is_read(http) && handle_own(api, http))
		return;
	if (is_read(http) && ui_find(http->path, &file)) {
		ui_reply(&file, http);
		return;
	}
	if (is_read(http))
		document = discovery_document(http->path);
	if (document != NULL)
		call_reply(call_new(api, http, STAT_OTHER), 200, document);
	else
		reply_plain(http, 404, "404 page not found\n");
}
