/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/published.h"

#include "base/cleanup.h"
#include "base/js.h"
#include "base/log.h"
#include "cluster/home.h"
#include "cluster/server/client.h"

#define NAME "extension-apiserver-authentication"
#define PATH "/api/v1/namespaces/kube-system/configmaps"

/* The lists are JSON within text. */
static json_t *
make(const struct home *home)
{
	json_t *data = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "client-ca-file",
		home->ca_cert, "requestheader-client-ca-file", home->proxy_ca,
		"requestheader-allowed-names", "[\"" HOME_FRONT_PROXY "\"]",
		"requestheader-username-headers", "[\"X-Remote-User\"]",
		"requestheader-uid-headers", "[\"X-Remote-Uid\"]",
		"requestheader-group-headers", "[\"X-Remote-Group\"]",
		"requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]");

	return json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "v1", "kind",
			 "ConfigMap", "metadata", "name", NAME, "data", data);
}

static void
written(int code, const json_t *answer, void *arg)
{
	(void)answer;
	(void)arg;
	/* 409: it is there, and the other request brings it up to date. */
	if (code >= 300 && code != 409)
		log_error(NULL,
			  "cannot write ConfigMap 'kube-system/" NAME
			  "': code %d",
			  code);
}

void
published_write(struct server *server, const struct home *home)
{
	AUTO(js_unref) json_t *body = make(home);
	struct client_call call = {
		.user = "system:apiserver",
		.method = "POST",
		.path = PATH,
		.body = body,
	};

	client_request(server, &call, written, NULL);
	call.method = "PATCH";
	call.path = PATH "/" NAME;
	call.content_type = "application/merge-patch+json";
	client_request(server, &call, written, NULL);
}
