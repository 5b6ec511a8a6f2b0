/* SPDX-License-Identifier: Apache-2.0 */

/*
 * PodDisruptionBudgets: keeps in their status how many pods may be evicted.
 *
 * Budgets are indexed as pods are (terms.h), so that a pod that changes costs
 * only those budgets that may be about it.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "cluster/control/budget.h"
#include "cluster/control/context.h"
#include "cluster/control/feed.h"
#include "cluster/control/task.h"
#include "cluster/control/terms.h"
#include "cluster/control/view.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "kube/worker.h"
#include "meta/selector.h"
#include "meta/status.h"
#include "meta/time.h"

#define PDB_USER "system:serviceaccount:kube-system:disruption-controller"
#define GROUP "policy"
#define RESOURCE "poddisruptionbudgets"
#define PARALLEL 32
/* A pod that was evicted but is still there after this stays. */
#define EVICTION_MS (2U * 60 * 1000)

struct pdb {
	struct map_node node;
	char *key; /* "namespace/name" */
	struct selector *selector;
	struct bucket *bucket;
	struct pdb *next, *prev; /* in the bucket */
};

/* Budgets that demand the same label of pods. */
struct bucket {
	struct map_node node;
	char *key; /* of terms_label_key() */
	struct pdb *budgets;
};

struct pdbs {
	struct context *context;
	struct store *store;
	struct map all;
	struct map buckets;
	struct api *api;
	struct worker *worker;
	struct subscription *following;
};

static struct pdb *
find(const struct pdbs *p, const char *key)
{
	struct map_node *node = map_get(&p->all, key);

	return node == NULL ? NULL : MAP_ENTRY(node, struct pdb, node);
}

/* The key is taken. */
static void
link_bucket(struct pdbs *p, struct pdb *pdb, char *key)
{
	struct map_node *node = map_get(&p->buckets, key);
	struct bucket *bucket;

	if (node != NULL) {
		bucket = MAP_ENTRY(node, struct bucket, node);
		free(key);
	} else {
		bucket = xmalloc0(sizeof(*bucket));
		bucket->key = key;
		map_put(&p->buckets, &bucket->node, bucket->key);
	}
	pdb->bucket = bucket;
	pdb->prev = NULL;
	pdb->next = bucket->budgets;
	if (pdb->next != NULL)
		pdb->next->prev = pdb;
	bucket->budgets = pdb;
}

static void
drop(struct pdbs *p, struct pdb *pdb)
{
	struct bucket *bucket = pdb->bucket;

	if (pdb->prev != NULL)
		pdb->prev->next = pdb->next;
	else
		bucket->budgets = pdb->next;
	if (pdb->next != NULL)
		pdb->next->prev = pdb->prev;
	if (bucket->budgets == NULL) {
		map_remove(&p->buckets, &bucket->node);
		free(bucket->key);
		free(bucket);
	}
	map_remove(&p->all, &pdb->node);
	selector_free(pdb->selector);
	free(pdb->key);
	free(pdb);
}

/* Counting. */

struct owner_seen {
	struct map_node node;
	int64_t pods;
	const struct pod *one;
};

struct count {
	const struct pdb *pdb;
	const json_t *disrupted; /* what the status has, name to time */
	json_t *forget;          /* {name: null}: entries that are over */
	int64_t now_us;
	bool waits; /* for pods that were evicted */
	struct budget_facts facts;
	struct map owners;
	json_t *present; /* names of the pods, for disrupted */
};

/* Whether the pod was evicted a moment ago, and only has not gone yet. */
static bool
is_disrupted(const struct count *c, const struct pod *pod)
{
	const char *text =
		json_string_value(json_object_get(c->disrupted, pod->name));
	struct err err;
	int64_t since;

	return text != NULL && time_parse(text, &since, &err) == 0 &&
	       c->now_us - since < (int64_t)EVICTION_MS * 1000;
}

static void
count_owner(struct count *c, const struct pod *pod)
{
	struct map_node *node;
	struct owner_seen *seen;

	if (*pod->controller == '\0')
		return;
	node = map_get(&c->owners, pod->controller);
	if (node != NULL) {
		MAP_ENTRY(node, struct owner_seen, node)->pods++;
		return;
	}
	seen = xmalloc0(sizeof(*seen));
	seen->pods = 1;
	seen->one = pod;
	map_put(&c->owners, &seen->node, pod->controller);
}

static void
count_pod(const struct pod *pod, void *arg)
{
	struct count *c = arg;

	if (!selector_matches(c->pdb->selector, pod->labels))
		return;
	c->facts.pods++;
	count_owner(c, pod);
	if (pod->deleting)
		return;
	if (is_disrupted(c, pod)) {
		c->waits = true;
		(void)json_object_set_new(c->present, pod->name, json_true());
	} else if (pod->ready) {
		c->facts.healthy++;
	}
}

/* How many pods the controllers want. One that does not say wants those that
 * are there. */
static void
count_scale(const struct pdbs *p, struct count *c)
{
	struct map_node *node = map_next(&c->owners, NULL);

	while (node != NULL) {
		struct map_node *next = map_next(&c->owners, node);
		struct owner_seen *seen =
			MAP_ENTRY(node, struct owner_seen, node);
		const struct object *owner =
			store_by_uid(p->store, seen->one->controller);
		AUTO(js_unref)
		json_t *json = owner == NULL ? NULL : object_json(owner);

		c->facts.scale += js_int_at(json, "spec.replicas", seen->pods);
		free(seen);
		node = next;
	}
	map_done(&c->owners);
}

/* Entries of pods that are gone, or that will not go, are over. */
static void
forget_disrupted(struct count *c)
{
	const char *name;
	json_t *since;

	json_object_foreach((json_t *)(uintptr_t)c->disrupted, name, since)
	{
		if (json_object_get(c->present, name) == NULL)
			(void)json_object_set_new(c->forget, name, json_null());
	}
}

/* Writing. */

static json_t *
condition(const json_t *status, bool allowed, int64_t generation)
{
	const json_t *old = js_find(js_at(status, "conditions"), "type",
				    "DisruptionAllowed");
	const char *value = allowed ? "True" : "False";
	const char *since = js_str_at(old, "lastTransitionTime");
	char now[TIME_TEXT_SIZE];

	if (strcmp(js_str_at(old, "status"), value) != 0 || *since == '\0')
		since = time_now_text(now);
	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:I}", "type",
			 "DisruptionAllowed", "status", value, "reason",
			 allowed ? "SufficientPods" : "InsufficientPods",
			 "message", "", "lastTransitionTime", since,
			 "observedGeneration", (json_int_t)generation);
}

/* The status as it should be. forget is taken. */
static json_t *
status_of(const json_t *json, const struct budget_facts *facts, json_t *forget)
{
	struct budget_result r = budget_compute(js_at(json, "spec"), facts);
	int64_t generation = js_int_at(json, "metadata.generation", 0);
	size_t entries = json_object_size(js_at(json, "status.disruptedPods"));
	json_t *status = json_pack(
		"{s:I,s:I,s:I,s:I,s:I,s:[o]}", "currentHealthy",
		(json_int_t)facts->healthy, "desiredHealthy",
		(json_int_t)r.desired, "disruptionsAllowed",
		(json_int_t)r.allowed, "expectedPods", (json_int_t)r.expected,
		"observedGeneration", (json_int_t)generation, "conditions",
		condition(js_at(json, "status"), r.allowed > 0, generation));

	if (json_object_size(forget) > 0)
		(void)json_object_set(status, "disruptedPods",
				      json_object_size(forget) == entries
					      ? json_null()
					      : forget);
	json_decref(forget);
	return status;
}

static bool
is_current(const json_t *json, const json_t *status)
{
	const json_t *old = js_at(json, "status");
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)status, name, value)
	{
		if (!json_equal(json_object_get(old, name), value))
			return false;
	}
	return true;
}

static void
write_status(struct task *task, const json_t *json, json_t *status)
{
	AUTO(free_ptr) char *path = NULL;

	if (is_current(json, status)) {
		json_decref(status);
		return;
	}
	path = xasprintf("/apis/policy/v1/namespaces/%s/" RESOURCE "/%s/status",
			 js_str_at(json, "metadata.namespace"),
			 js_str_at(json, "metadata.name"));
	/* Evictions write it too: only on top of what was read. */
	task_send(
		task,
		&(struct api_call){
			.method = "PATCH",
			.path = path,
			.body = json_pack(
				"{s:{s:s},s:o}", "metadata", "resourceVersion",
				js_str_at(json, "metadata.resourceVersion"),
				"status", status),
			.content_type = API_MERGE,
		});
}

static void
work(const char *key, void *arg)
{
	struct pdbs *p = arg;
	const struct pdb *pdb = find(p, key);
	const char *slash = strchr(key, '/');
	AUTO(free_ptr) char *ns = xstrndup(key, (size_t)(slash - key));
	const struct object *obj = store_get(
		store_collection(p->store, GROUP, RESOURCE), ns, slash + 1);
	AUTO(js_unref) json_t *json = NULL;
	struct count c = { .pdb = pdb, .now_us = time_now_us() };
	struct task *task;

	if (pdb == NULL || obj == NULL || obj->deleting) {
		worker_end(p->worker, key, false);
		return;
	}
	json = object_json(obj);
	c.disrupted = js_at(json, "status.disruptedPods");
	c.forget = json_object();
	c.present = json_object();
	terms_each_pod(p->context->view->terms, pdb->bucket->key, count_pod,
		       &c);
	count_scale(p, &c);
	forget_disrupted(&c);
	json_decref(c.present);
	task = task_new(p->worker, p->api, key);
	write_status(task, json, status_of(json, &c.facts, c.forget));
	if (c.waits)
		worker_add_after(p->worker, key, EVICTION_MS);
	task_close(task);
}

/* Events. */

static void
on_budget(const struct event *event, void *arg)
{
	struct pdbs *p = arg;
	AUTO(free_ptr) char *key = object_key(event->object);
	struct pdb *pdb = find(p, key);
	AUTO(js_unref) json_t *json = NULL;
	const json_t *selector;
	struct status st = STATUS_INIT;

	if (pdb != NULL)
		drop(p, pdb);
	if (event->type == EVENT_DELETED)
		return;
	json = object_json(event->object);
	selector = js_at(json, "spec.selector");
	pdb = xmalloc0(sizeof(*pdb));
	pdb->key = xstrdup(key);
	pdb->selector = selector_from_json(selector, &st);
	if (pdb->selector == NULL)
		pdb->selector = selector_from_json(NULL, &st);
	status_done(&st);
	map_put(&p->all, &pdb->node, pdb->key);
	link_bucket(p, pdb,
		    terms_label_key(event->object->namespace_, selector,
				    pdb->selector));
	worker_add(p->worker, key);
}

static void
add_bucket(struct pdbs *p, const char *key, const json_t *labels)
{
	struct map_node *node = map_get(&p->buckets, key);

	if (node == NULL)
		return;
	for (struct pdb *pdb = MAP_ENTRY(node, struct bucket, node)->budgets;
	     pdb != NULL; pdb = pdb->next) {
		if (selector_matches(pdb->selector, labels))
			worker_add(p->worker, pdb->key);
	}
}

static void
add_concerned(struct pdbs *p, const struct pod *pod)
{
	AUTO(free_ptr) char *any = NULL;
	const char *label;
	json_t *value;

	if (pod == NULL || p->all.count == 0)
		return;
	any = xasprintf("%s/", pod->ns);
	add_bucket(p, any, pod->labels);
	json_object_foreach(pod->labels, label, value)
	{
		AUTO(free_ptr) char *key = NULL;

		if (!json_is_string(value))
			continue;
		key = xasprintf("%s/%s=%s", pod->ns, label,
				json_string_value(value));
		add_bucket(p, key, pod->labels);
	}
}

static void
on_change(const struct feed_change *change, void *arg)
{
	struct pdbs *p = arg;
	const struct pod *pod = change->pod;
	const struct pod *old = change->old_pod;

	if (change->what != FEED_POD ||
	    (pod != NULL && old != NULL && pod->ready == old->ready &&
	     pod->deleting == old->deleting &&
	     json_equal(pod->labels, old->labels)))
		return;
	add_concerned(p, old);
	add_concerned(p, pod);
}

static void *
pdb_start(struct context *context)
{
	struct pdbs *p = xmalloc0(sizeof(*p));

	p->context = context;
	p->store = context->config.store;
	p->api = api_new(context->config.server, PDB_USER);
	p->worker = worker_new(&(struct worker_config){
		.loop = context->config.loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = p,
	});
	p->following = follow(p->store, GROUP, RESOURCE, on_budget, p);
	feed_listen(context->feed, on_change, p);
	return p;
}

static void
pdb_stop(void *state)
{
	struct pdbs *p = state;
	struct map_node *node = map_next(&p->all, NULL);

	api_close(p->api);
	unsubscribe(p->following);
	worker_free(p->worker);
	api_free(p->api);
	while (node != NULL) {
		struct map_node *next = map_next(&p->all, node);

		drop(p, MAP_ENTRY(node, struct pdb, node));
		node = next;
	}
	map_done(&p->all);
	map_done(&p->buckets);
	free(p);
}

const struct controller pdb_controller = {
	.name = "disruption",
	.start = pdb_start,
	.stop = pdb_stop,
};
