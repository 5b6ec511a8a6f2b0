/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/hookcall.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cluster/admit/hook.h"
#include "cluster/admit/review.h"
#include "cluster/admit/service.h"
#include "kube/fetch.h"

struct hookcall {
	struct hookcall_config config;
	char uid[NAME_UUID_SIZE];
	char *url;
	struct fetch *fetch;
	struct loop_timer *failure; /* there is no address to ask */
	struct err err;             /* why */
};

static void
hookcall_free(struct hookcall *call)
{
	loop_timer_free(call->failure);
	free(call->url);
	free(call);
}

/* A failure that is known at once still comes from the loop. */
static void
on_failure(void *arg)
{
	AUTO(review_answer_done)
	struct review_answer answer = REVIEW_ANSWER_INIT;
	struct hookcall *call = arg;

	review_fail(&answer, "failed to call webhook: Post \"%s\": %s",
		    call->url, call->err.text);
	call->config.done(call, &answer, call->config.arg);
	hookcall_free(call);
}

static void
on_done(const struct fetch_result *result, void *arg)
{
	AUTO(review_answer_done)
	struct review_answer answer = REVIEW_ANSWER_INIT;
	struct hookcall *call = arg;

	call->fetch = NULL;
	review_read(call->config.hook, call->uid, result, &answer);
	call->config.done(call, &answer, call->config.arg);
	hookcall_free(call);
}

static int
resolve(struct hookcall *call, char ret_address[SERVICE_ADDRESS_SIZE])
{
	static unsigned turn;
	const struct hook *hook = call->config.hook;
	const struct service_ref ref = {
		.namespace_ = hook->service_ns,
		.name = hook->service_name,
		.port = hook->service_port,
	};
	struct service_address address;

	if (service_resolve(call->config.store, &ref, turn++, &address,
			    &call->err) == -1)
		return -1;
	service_address_text(&address, ret_address);
	return 0;
}

static void
start(struct hookcall *call, const char *body)
{
	static const struct fetch_header headers[] = {
		{ "Content-Type", "application/json" },
		{ "Accept", "application/json, */*" },
		{ "User-Agent", "kube-apiserver-admission" },
	};
	const struct hook *hook = call->config.hook;
	char address[SERVICE_ADDRESS_SIZE];
	struct fetch_request request = {
		.method = "POST",
		.url = call->url,
		.headers = headers,
		.header_count = ARRAY_LEN(headers),
		.body = body,
		.body_len = strlen(body),
		.ca_pem = hook->ca_pem,
		.cert_pem = call->config.cert_pem,
		.key_pem = call->config.key_pem,
		.timeout_ms = hook->timeout_s * 1000,
		.body_max = HOOKCALL_ANSWER_MAX,
	};

	if (hook->service_name != NULL) {
		if (resolve(call, address) == -1) {
			call->failure = loop_timer_new(call->config.loop,
						       on_failure, call);
			loop_timer_start(call->failure, 0);
			return;
		}
		request.connect_to = address;
	}
	call->fetch =
		fetch_start(call->config.fetcher, &request, on_done, call);
}

struct hookcall *
hookcall_start(const struct hookcall_config *config)
{
	struct hookcall *call = xmalloc0(sizeof(*call));
	const struct hook *hook = config->hook;
	AUTO(js_unref) json_t *review = NULL;
	AUTO(free_ptr) char *body = NULL;

	call->config = *config;
	call->url = xasprintf("%s%ctimeout=%us", hook->url,
			      strchr(hook->url, '?') != NULL ? '&' : '?',
			      hook->timeout_s);
	review = review_new(hook, config->req, config->version, call->uid);
	body = js_text(review);
	start(call, body);
	return call;
}

void
hookcall_cancel(struct hookcall *call)
{
	if (call == NULL)
		return;
	if (call->fetch != NULL)
		fetch_cancel(call->fetch);
	hookcall_free(call);
}
