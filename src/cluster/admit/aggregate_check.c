/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/aggregate_internal.h"
#include "cluster/admit/service.h"
#include "cluster/store/store.h"
#include "kube/fetch.h"

#define CHECK_TIMEOUT_MS 5000
#define RETRY_FIRST_MS 250
#define DISCOVERY_MAX (4UL * 1024 * 1024)

void
remote_check_stop(struct remote *remote)
{
	loop_timer_stop(remote->timer);
	if (remote->check != NULL)
		fetch_cancel(remote->check);
	remote->check = NULL;
}

static void
plan_next(struct remote *remote)
{
	unsigned delay_ms = AGGREGATE_CHECK_MS;

	if (remote->available) {
		remote->retry_ms = 0;
	} else {
		remote->retry_ms = remote->retry_ms == 0 ? RETRY_FIRST_MS
							 : remote->retry_ms * 2;
		if (remote->retry_ms > AGGREGATE_CHECK_MS)
			remote->retry_ms = AGGREGATE_CHECK_MS;
		delay_ms = remote->retry_ms;
	}
	loop_timer_start(remote->timer, (uint64_t)delay_ms * 1000);
}

static void
conclude(struct remote *remote, const char *reason, const char *message)
{
	const struct available available = {
		.status = remote->available ? "True" : "False",
		.reason = reason,
		.message = message,
	};

	remote_show(remote);
	aggregate_set_available(remote->agg, remote->name, &available);
	plan_next(remote);
}

static void
fail(struct remote *remote, const char *reason, char *message)
{
	AUTO(free_ptr) char *text = message;

	if (remote->available)
		log_warning(NULL, "APIService '%s' is not available: %s",
			    remote->name, text);
	remote->available = false;
	conclude(remote, reason, text);
}

static void
fail_unresolved(struct remote *remote, const struct err *err)
{
	struct store *store = remote->agg->config.store;
	const char *ns = remote->service_ns, *name = remote->service_name;

	if (err->kind == ERR_NOT_FOUND) {
		fail(remote, "ServiceNotFound",
		     xasprintf("service/%s in \"%s\" is not present", name,
			       ns));
	} else if (err->kind == ERR_INVALID) {
		fail(remote, "ServicePortError",
		     xasprintf("service/%s in \"%s\" is not listening on port "
			       "%u",
			       name, ns, remote->service_port));
	} else if (store_get(store_collection(store, "", "endpoints"), ns,
			     name) == NULL) {
		fail(remote, "EndpointsNotFound",
		     xasprintf("cannot find endpoints for service/%s in \"%s\"",
			       name, ns));
	} else {
		fail(remote, "MissingEndpoints",
		     xasprintf("endpoints for service/%s in \"%s\" have no "
			       "addresses for port %u",
			       name, ns, remote->service_port));
	}
}

static void
keep_resources(struct remote *remote, const struct fetch_result *result)
{
	struct err err;
	AUTO(js_unref)
	json_t *list = js_parse_lenient(result->body, result->body_len, NULL,
					NULL, &err);

	json_decref(remote->resources);
	remote->resources = NULL;
	if (js_arr_at(list, "resources") != NULL)
		remote->resources = TAKE_PTR(list);
}

static void
on_checked(const struct fetch_result *result, void *arg)
{
	struct remote *remote = arg;
	AUTO(free_ptr)
	char *url =
		xasprintf("https://%s.%s.svc:%u/apis/%s/%s",
			  remote->service_name, remote->service_ns,
			  remote->service_port, remote->group, remote->version);

	remote->check = NULL;
	if (result->error != FETCH_OK) {
		fail(remote, "FailedDiscoveryCheck",
		     xasprintf("failing or missing response from %s: %s", url,
			       result->text));
		return;
	}
	if (result->code < 200 || result->code >= 300) {
		fail(remote, "FailedDiscoveryCheck",
		     xasprintf("failing or missing response from %s: bad "
			       "status from %s: %d",
			       url, url, result->code));
		return;
	}
	keep_resources(remote, result);
	remote->available = true;
	conclude(remote, "Passed", "all checks passed");
}

/* Who answers is not verified, as in Kubernetes: requests are. */
static void
ask(struct remote *remote, const struct service_address *address)
{
	static const struct fetch_header headers[] = {
		{ "Accept", "application/json" },
		{ "X-Remote-User", "system:kube-aggregator" },
		{ "X-Remote-Group", "system:masters" },
	};
	AUTO(free_ptr)
	char *url =
		xasprintf("https://%s.%s.svc:%u/apis/%s/%s",
			  remote->service_name, remote->service_ns,
			  remote->service_port, remote->group, remote->version);
	char connect_to[SERVICE_ADDRESS_SIZE];
	const struct fetch_request request = {
		.method = "GET",
		.url = url,
		.headers = headers,
		.header_count = ARRAY_LEN(headers),
		.connect_to = connect_to,
		.cert_pem = remote->agg->cert_pem,
		.key_pem = remote->agg->key_pem,
		.insecure = true,
		.timeout_ms = CHECK_TIMEOUT_MS,
		.body_max = DISCOVERY_MAX,
	};

	service_address_text(address, connect_to);
	remote->check = fetch_start(remote->agg->config.fetcher, &request,
				    on_checked, remote);
}

void
remote_check(struct remote *remote)
{
	const struct service_ref ref = remote_service(remote);
	struct service_address address;
	struct err err;

	remote_check_stop(remote);
	if (service_resolve(remote->agg->config.store, &ref, remote->turn++,
			    &address, &err) == -1)
		fail_unresolved(remote, &err);
	else
		ask(remote, &address);
}
