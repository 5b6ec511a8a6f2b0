/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/hook.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/service.h"
#include "meta/selector.h"
#include "meta/status.h"

#define PORT_DEFAULT 443

static struct selector *
read_selector(const json_t *hook, const char *name, bool *broken)
{
	const json_t *value = js_obj_at(hook, name);
	AUTO(status_done) struct status st = STATUS_INIT;
	struct selector *selector;

	if (value == NULL)
		return NULL;
	selector = selector_from_json(value, &st);
	if (selector == NULL)
		*broken = true;
	return selector;
}

static bool
has_string(const json_t *array, const char *value)
{
	const json_t *item;
	size_t i;

	json_array_foreach(array, i, item)
	{
		if (str_equal(json_string_value(item), value))
			return true;
	}
	return false;
}

static void
read_client(struct hook *hook, const json_t *client)
{
	const json_t *service = js_obj_at(client, "service");
	int64_t port = js_int_at(service, "port", PORT_DEFAULT);
	const char *path = js_str_at(service, "path");

	hook->ca_pem = service_bundle(client);
	if (service == NULL) {
		hook->url = xstrdup(js_str_at(client, "url"));
		return;
	}
	hook->service_ns = xstrdup(js_str_at(service, "namespace"));
	hook->service_name = xstrdup(js_str_at(service, "name"));
	hook->service_port =
		port > 0 && port <= UINT16_MAX ? (uint16_t)port : PORT_DEFAULT;
	hook->url = xasprintf("https://%s.%s.svc:%u%s%s", hook->service_name,
			      hook->service_ns, hook->service_port,
			      *path == '/' ? "" : "/", path);
}

static void
read_hook(struct hook *hook, const json_t *obj, bool mutating)
{
	const char *effects = js_str_at(obj, "sideEffects");
	int64_t timeout = js_int_at(obj, "timeoutSeconds", 0);

	hook->name = xstrdup(js_str_at(obj, "name"));
	hook->mutating = mutating;
	hook->fails_closed =
		!str_equal(js_str_at(obj, "failurePolicy"), "Ignore");
	hook->reinvoked =
		str_equal(js_str_at(obj, "reinvocationPolicy"), "IfNeeded");
	hook->exact = str_equal(js_str_at(obj, "matchPolicy"), "Exact");
	hook->no_side_effects = str_equal(effects, "None") ||
				str_equal(effects, "NoneOnDryRun");
	hook->speaks_v1 =
		has_string(js_arr_at(obj, "admissionReviewVersions"), "v1") ||
		!has_string(js_arr_at(obj, "admissionReviewVersions"),
			    "v1beta1");
	hook->timeout_s = timeout >= 1 && timeout <= HOOK_TIMEOUT_MAX_S
				  ? (unsigned)timeout
				  : HOOK_TIMEOUT_DEFAULT_S;
	hook->rules = json_deep_copy(js_arr_at(obj, "rules"));
	hook->namespaces =
		read_selector(obj, "namespaceSelector", &hook->broken);
	hook->objects = read_selector(obj, "objectSelector", &hook->broken);
	read_client(hook, js_obj_at(obj, "clientConfig"));
}

struct hook_config *
hook_config_new(const json_t *config, bool mutating)
{
	const json_t *list = js_arr_at(config, "webhooks"), *item;
	struct hook_config *ret = xmalloc0(sizeof(*ret));
	size_t i;

	ret->refs = 1;
	ret->name = xstrdup(js_str_at(config, "metadata.name"));
	ret->hooks = xcalloc(json_array_size(list) + 1, sizeof(*ret->hooks));
	ret->count = json_array_size(list);
	json_array_foreach(list, i, item)
		read_hook(&ret->hooks[i], item, mutating);
	return ret;
}

static void
hook_done(struct hook *hook)
{
	free(hook->name);
	free(hook->url);
	free(hook->service_ns);
	free(hook->service_name);
	free(hook->ca_pem);
	json_decref(hook->rules);
	selector_free(hook->namespaces);
	selector_free(hook->objects);
}

void
hook_config_unref(struct hook_config *config)
{
	if (config == NULL || --config->refs > 0)
		return;
	for (size_t i = 0; i < config->count; i++)
		hook_done(&config->hooks[i]);
	free(config->hooks);
	free(config->name);
	free(config);
}
