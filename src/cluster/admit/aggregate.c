/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/aggregate.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/aggregate_internal.h"
#include "cluster/admit/rewrite.h"
#include "cluster/kinds/discovery.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/time.h"

#define GROUP "apiregistration.k8s.io"
#define PORT_DEFAULT 443

struct remote *
aggregate_find(const struct aggregate *agg, const char *group,
	       const char *version)
{
	AUTO(free_ptr) char *name = xasprintf("%s.%s", version, group);
	struct map_node *node = map_get(&agg->remotes, name);

	return node != NULL ? MAP_ENTRY(node, struct remote, node) : NULL;
}

bool
aggregate_owns(const struct aggregate *agg, const char *group,
	       const char *version)
{
	/* Asked for every request; most clusters have none. */
	return agg->remotes.count > 0 &&
	       aggregate_find(agg, group, version) != NULL;
}

static void
merge_condition(json_t *conditions, const struct available *available)
{
	json_t *old = js_find(conditions, "type", "Available");
	char now[TIME_TEXT_SIZE];
	json_t *new = json_pack(
		"{s:s, s:s, s:s, s:s, s:s}", "type", "Available", "status",
		available->status, "reason", available->reason, "message",
		available->message, "lastTransitionTime", time_now_text(now));

	if (old == NULL) {
		(void)json_array_append_new(conditions, new);
		return;
	}
	if (str_equal(js_str_at(old, "status"), available->status))
		(void)json_object_del(new, "lastTransitionTime");
	(void)json_object_update(old, new);
	json_decref(new);
}

void
aggregate_set_available(struct aggregate *agg, const char *name,
			const struct available *available)
{
	const struct object *object = store_get(agg->collection, "", name);
	AUTO(js_unref) json_t *obj = NULL;
	AUTO(js_unref) json_t *before = NULL;
	json_t *status;

	if (object == NULL)
		return;
	obj = object_json(object);
	before = json_deep_copy(js_at(obj, "status.conditions"));
	status = js_make_obj_at(obj, "status");
	if (js_arr_at(status, "conditions") == NULL)
		(void)json_object_set_new(status, "conditions", json_array());
	merge_condition(js_arr_at(status, "conditions"), available);
	if (!json_equal(before, js_arr_at(status, "conditions")))
		rewrite(agg->collection, obj);
}

void
remote_show(struct remote *remote)
{
	const struct discovery_external external = {
		.group = remote->group,
		.version = remote->version,
		.resources = remote->available ? remote->resources : NULL,
		.group_priority =
			(int)js_int_at(remote->spec, "groupPriorityMinimum", 0),
		.version_priority =
			(int)js_int_at(remote->spec, "versionPriority", 0),
	};

	if (remote->agg->config.discovery != NULL)
		discovery_set_external(remote->agg->config.discovery,
				       &external);
}

struct service_ref
remote_service(const struct remote *remote)
{
	return (struct service_ref){
		.namespace_ = remote->service_ns,
		.name = remote->service_name,
		.port = remote->service_port,
	};
}

static void
on_check_timer(void *arg)
{
	remote_check(arg);
}

/* What was said of it last holds until the next check: over a restart, and when
 * only its certificates change. */
static bool
was_available(const json_t *obj)
{
	const json_t *condition = js_find(js_arr_at(obj, "status.conditions"),
					  "type", "Available");

	return str_equal(js_str_at(condition, "status"), "True");
}

/* resources, which may be NULL, is taken. */
static void
remote_new(struct aggregate *agg, const json_t *obj, json_t *resources)
{
	struct remote *remote = xmalloc0(sizeof(*remote));
	const json_t *spec = js_obj_at(obj, "spec");
	int64_t port = js_int_at(spec, "service.port", PORT_DEFAULT);

	remote->agg = agg;
	remote->name = xstrdup(js_str_at(obj, "metadata.name"));
	remote->available = was_available(obj);
	remote->resources = resources;
	remote->group = xstrdup(js_str_at(spec, "group"));
	remote->version = xstrdup(js_str_at(spec, "version"));
	remote->service_ns = xstrdup(js_str_at(spec, "service.namespace"));
	remote->service_name = xstrdup(js_str_at(spec, "service.name"));
	remote->service_port =
		port > 0 && port <= UINT16_MAX ? (uint16_t)port : PORT_DEFAULT;
	remote->ca_pem = service_bundle(spec);
	remote->insecure = js_bool_at(spec, "insecureSkipTLSVerify", false);
	remote->spec = json_deep_copy(spec);
	remote->timer =
		loop_timer_new(agg->config.loop, on_check_timer, remote);
	map_put(&agg->remotes, &remote->node, remote->name);
	remote_show(remote);
	remote_check(remote);
}

static void
remote_free(struct remote *remote)
{
	remote_check_stop(remote);
	loop_timer_free(remote->timer);
	map_remove(&remote->agg->remotes, &remote->node);
	json_decref(remote->spec);
	json_decref(remote->resources);
	free(remote->name);
	free(remote->group);
	free(remote->version);
	free(remote->service_ns);
	free(remote->service_name);
	free(remote->ca_pem);
	free(remote);
}

static void
drop(struct aggregate *agg, const char *name)
{
	struct map_node *node = map_get(&agg->remotes, name);
	struct remote *remote;

	if (node == NULL)
		return;
	remote = MAP_ENTRY(node, struct remote, node);
	if (agg->config.discovery != NULL)
		discovery_remove_external(agg->config.discovery, remote->group,
					  remote->version);
	remote_free(remote);
}

/* The name says which group version it is; Kubernetes accepts no other. */
static bool
is_named_well(const char *name, const json_t *spec)
{
	AUTO(free_ptr)
	char *right = xasprintf("%s.%s", js_str_at(spec, "version"),
				js_str_at(spec, "group"));

	return str_equal(name, right);
}

static void
take_in(struct aggregate *agg, const struct object *object)
{
	static const struct available local = {
		"True", "Local", "Local APIServices are always available"
	};
	struct map_node *node = map_get(&agg->remotes, object->name);
	AUTO(js_unref) json_t *obj = object_json(object);
	const json_t *spec = js_obj_at(obj, "spec");
	AUTO(js_unref) json_t *resources = NULL;

	if (node != NULL) {
		struct remote *old = MAP_ENTRY(node, struct remote, node);

		if (json_equal(old->spec, spec))
			return;
		resources = TAKE_PTR(old->resources);
		drop(agg, object->name);
	}
	if (js_obj_at(spec, "service") == NULL)
		aggregate_set_available(agg, object->name, &local);
	else if (is_named_well(object->name, spec))
		remote_new(agg, obj, TAKE_PTR(resources));
}

static void
on_apiservice(const struct event *event, void *arg)
{
	if (event->type == EVENT_DELETED)
		drop(arg, event->object->name);
	else
		take_in(arg, event->object);
}

/* A Service or its Endpoints, which have the same name. */
static void
on_service(const struct event *event, void *arg)
{
	const struct object *object = event->object;
	const struct aggregate *agg = arg;
	struct map_node *node = NULL;

	while ((node = map_next(&agg->remotes, node)) != NULL) {
		struct remote *remote = MAP_ENTRY(node, struct remote, node);

		if (!str_equal(remote->service_ns, object->namespace_) ||
		    !str_equal(remote->service_name, object->name))
			continue;
		remote->retry_ms = 0;
		remote_check(remote);
	}
}

struct aggregate *
aggregate_new(const struct aggregate_config *config)
{
	struct aggregate *agg = xmalloc0(sizeof(*agg));
	struct store *store = config->store;

	agg->config = *config;
	if (config->proxy_cert_pem != NULL)
		agg->cert_pem = xstrdup(config->proxy_cert_pem);
	if (config->proxy_key_pem != NULL)
		agg->key_pem = xstrdup(config->proxy_key_pem);
	agg->collection = store_collection(store, GROUP, "apiservices");
	agg->on_apiservice =
		follow(store, GROUP, "apiservices", on_apiservice, agg);
	agg->on_service =
		follow_changes(store, store_collection(store, "", "services"),
			       on_service, agg);
	agg->on_endpoints =
		follow_changes(store, store_collection(store, "", "endpoints"),
			       on_service, agg);
	return agg;
}

void
aggregate_free(struct aggregate *agg)
{
	struct map_node *node, *next;

	if (agg == NULL)
		return;
	unsubscribe(agg->on_apiservice);
	unsubscribe(agg->on_service);
	unsubscribe(agg->on_endpoints);
	proxied_end_all(agg);
	for (node = map_next(&agg->remotes, NULL); node != NULL; node = next) {
		next = map_next(&agg->remotes, node);
		remote_free(MAP_ENTRY(node, struct remote, node));
	}
	map_done(&agg->remotes);
	free(agg->cert_pem);
	free(agg->key_pem);
	free(agg);
}
