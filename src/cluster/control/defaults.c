/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What every namespace has: the ServiceAccount "default", and the ConfigMap
 * "kube-root-ca.crt" by which pods know the server. Either is put back when it
 * was deleted or changed.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "cluster/control/context.h"
#include "cluster/control/feed.h"
#include "cluster/control/task.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "kube/worker.h"

#define DEFAULTS_USER "system:kube-controller-manager"
#define ACCOUNT "default"
#define ROOT_CA "kube-root-ca.crt"
#define ROOT_CA_KEY "ca.crt"
#define PARALLEL 16

struct defaults {
	struct store *store;
	const char *root_ca_pem;
	struct api *api;
	struct worker *worker;
	struct subscription *accounts;
	struct subscription *configs;
};

static void
send(struct task *task, const char *method, const char *path, json_t *body)
{
	task_send(task, &(struct api_call){
				.method = method,
				.path = path,
				.body = body,
			});
}

static struct object *
get(const struct defaults *d, const char *resource, const char *ns,
    const char *name)
{
	return store_get(store_collection(d->store, "", resource), ns, name);
}

static void
ensure_account(const struct defaults *d, struct task *task)
{
	AUTO(free_ptr) char *path = NULL;

	if (get(d, "serviceaccounts", task->key, ACCOUNT) != NULL)
		return;
	path = xasprintf("/api/v1/namespaces/%s/serviceaccounts", task->key);
	send(task, "POST", path,
	     json_pack("{s:s,s:s,s:{s:s,s:s}}", "apiVersion", "v1", "kind",
		       "ServiceAccount", "metadata", "name", ACCOUNT,
		       "namespace", task->key));
}

static json_t *
root_ca_json(const struct defaults *d, const struct task *task)
{
	return json_pack(
		"{s:s,s:s,s:{s:s,s:s,s:{s:s}},s:{s:s}}", "apiVersion", "v1",
		"kind", "ConfigMap", "metadata", "name", ROOT_CA, "namespace",
		task->key, "annotations", "kubernetes.io/description",
		"Contains a CA bundle that can be used to verify the "
		"kube-apiserver when using internal endpoints such as the "
		"internal service IP or kubernetes.default.svc. No other usage "
		"is guaranteed across distributions of Kubernetes clusters.",
		"data", ROOT_CA_KEY, d->root_ca_pem);
}

static void
ensure_root_ca(const struct defaults *d, struct task *task)
{
	const struct object *obj = get(d, "configmaps", task->key, ROOT_CA);
	AUTO(js_unref) json_t *json = NULL;
	AUTO(free_ptr) char *path = NULL;
	const json_t *data;

	if (d->root_ca_pem == NULL)
		return;
	path = xasprintf("/api/v1/namespaces/%s/configmaps%s", task->key,
			 obj == NULL ? "" : "/" ROOT_CA);
	if (obj == NULL) {
		send(task, "POST", path, root_ca_json(d, task));
		return;
	}
	json = object_json(obj);
	data = js_at(json, "data");
	if (json_object_size(data) != 1 ||
	    !json_is_string(json_object_get(data, ROOT_CA_KEY)) ||
	    strcmp(json_string_value(json_object_get(data, ROOT_CA_KEY)),
		   d->root_ca_pem) != 0)
		send(task, "PUT", path, root_ca_json(d, task));
}

static void
work(const char *name, void *arg)
{
	struct defaults *d = arg;
	const struct object *ns = get(d, "namespaces", "", name);
	struct task *task;

	if (ns == NULL || ns->deleting) {
		worker_end(d->worker, name, false);
		return;
	}
	task = task_new(d->worker, d->api, name);
	ensure_account(d, task);
	ensure_root_ca(d, task);
	task_close(task);
}

static void
on_change(const struct feed_change *change, void *arg)
{
	struct defaults *d = arg;

	if (change->what == FEED_NAMESPACE && change->type != EVENT_DELETED &&
	    !change->object->deleting)
		worker_add(d->worker, change->key);
}

static void
on_account(const struct event *event, void *arg)
{
	struct defaults *d = arg;

	if (event->type == EVENT_DELETED &&
	    strcmp(event->object->name, ACCOUNT) == 0)
		worker_add(d->worker, event->object->namespace_);
}

static void
on_config(const struct event *event, void *arg)
{
	struct defaults *d = arg;

	if (event->type != EVENT_ADDED &&
	    strcmp(event->object->name, ROOT_CA) == 0)
		worker_add(d->worker, event->object->namespace_);
}

static void *
defaults_start(struct context *context)
{
	struct defaults *d = xmalloc0(sizeof(*d));

	d->store = context->config.store;
	d->root_ca_pem = context->config.root_ca_pem;
	d->api = api_new(context->config.server, DEFAULTS_USER);
	d->worker = worker_new(&(struct worker_config){
		.loop = context->config.loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = d,
	});
	d->accounts = follow(d->store, "", "serviceaccounts", on_account, d);
	d->configs = follow(d->store, "", "configmaps", on_config, d);
	feed_listen(context->feed, on_change, d);
	return d;
}

static void
defaults_stop(void *state)
{
	struct defaults *d = state;

	api_close(d->api);
	unsubscribe(d->accounts);
	unsubscribe(d->configs);
	worker_free(d->worker);
	api_free(d->api);
	free(d);
}

const struct controller defaults_controller = {
	.name = "namespace-defaults",
	.start = defaults_start,
	.stop = defaults_stop,
};
