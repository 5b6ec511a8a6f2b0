/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/handler.h"

#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "api/pod.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "handler/host.h"
#include "handler/machine.h"
#include "handler/meter.h"
#include "handler/nodelabels.h"
#include "handler/prober.h"
#include "handler/proxyctl.h"
#include "handler/strays.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/worker.h"
#include "meta/time.h"
#include "version.h"

#define PARALLEL 32 /* machines that are looked at side by side */
#define COMPONENT "virt-handler"

enum source {
	SOURCE_HERE,     /* machines that run here */
	SOURCE_RECEIVED, /* machines that come here */
	SOURCE_PODS,
	SOURCE_COUNT,
};

enum pod_index {
	PODS_BY_MACHINE, /* "ns/name" */
	POD_INDEX_COUNT,
};

struct handler {
	struct handler_options options;
	struct host *host;
	struct kube_client *client;
	struct events *events;
	struct proxyctl *proxy;
	struct strays *strays;
	struct nodelabels *labels;
	struct prober *prober;
	struct informer *informers[SOURCE_COUNT];
	struct worker *worker;
	struct map machines; /* by key */
	struct meter meter;
	struct health_server *health; /* NULL: does not serve */
};

const struct handler_options *
handler_options(const struct handler *h)
{
	return &h->options;
}

struct kube_client *
handler_client(const struct handler *h)
{
	return h->client;
}

struct events *
handler_events(const struct handler *h)
{
	return h->events;
}

struct proxyctl *
handler_proxy(const struct handler *h)
{
	return h->proxy;
}

struct meter *
handler_meter(struct handler *h)
{
	return &h->meter;
}

uint16_t
handler_port(const struct handler *h)
{
	return h->health == NULL ? 0 : health_server_port(h->health);
}

const struct host *
handler_host(const struct handler *h)
{
	return h->host;
}

static bool
has_seen_all(const struct handler *h)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		if (!informer_has_synced(h->informers[i]))
			return false;
	}
	return true;
}

bool
handler_is_settled(const struct handler *h)
{
	return has_seen_all(h) && proxyctl_is_settled(h->proxy);
}

bool
handler_is_ready(const struct handler *h)
{
	return has_seen_all(h) && proxyctl_is_up(h->proxy);
}

size_t
handler_machines(const struct handler *h)
{
	return h->machines.count;
}

static const struct seen_vmi *
seen_in(const struct handler *h, enum source source, const char *key)
{
	const struct cache_object *object =
		cache_get_key(informer_cache(h->informers[source]), key);

	return object == NULL ? NULL : object->view;
}

/* A machine that comes to the node it runs on is in both, each as late as its
 * own watch; the newer one counts. */
const struct seen_vmi *
handler_vmi(const struct handler *h, const char *key)
{
	const struct seen_vmi *here = seen_in(h, SOURCE_HERE, key);
	const struct seen_vmi *received = seen_in(h, SOURCE_RECEIVED, key);
	uint64_t a, b;
	struct err err;

	if (here == NULL || here->vmi == NULL)
		return received;
	if (received == NULL || received->vmi == NULL)
		return here;
	if (str_to_u64(here->vmi->meta.version, "", 0, UINT64_MAX, &a, &err) ==
		    0 &&
	    str_to_u64(received->vmi->meta.version, "", 0, UINT64_MAX, &b,
		       &err) == 0 &&
	    b > a)
		return received;
	return here;
}

static bool
is_better(const struct pod *a, const struct pod *b)
{
	if (b == NULL)
		return true;
	if (pod_is_down(a) != pod_is_down(b))
		return !pod_is_down(a);
	if (a->meta.created_us != b->meta.created_us)
		return a->meta.created_us > b->meta.created_us;
	/* Times are whole seconds; the same answer each time will do. */
	return strcmp(a->meta.name, b->meta.name) > 0;
}

static bool
is_or_any(const char *uid, const char *wanted)
{
	return wanted[0] == '\0' || str_equal(uid, wanted);
}

const struct pod *
handler_pod(const struct handler *h, const char *key, const char *vmi_uid,
	    const char *migration_uid)
{
	struct cache_walk walk =
		cache_find(informer_cache(h->informers[SOURCE_PODS]),
			   PODS_BY_MACHINE, key);
	const struct cache_object *object;
	const struct pod *best = NULL;

	while ((object = cache_walk_next(&walk)) != NULL) {
		const struct pod *pod = object->view;

		if (pod != NULL && is_or_any(pod->vmi_uid, vmi_uid) &&
		    is_or_any(pod->migration_uid, migration_uid) &&
		    is_better(pod, best))
			best = pod;
	}
	return best;
}

void
handler_poke(struct handler *h, const char *key, uint64_t delay_ms)
{
	worker_add_after(h->worker, key, delay_ms);
}

void
handler_looked(struct handler *h, const char *key, bool failed)
{
	worker_end(h->worker, key, failed);
}

static struct machine *
find(const struct handler *h, const char *key)
{
	struct map_node *node = map_get(&h->machines, key);

	return node == NULL ? NULL : MAP_ENTRY(node, struct machine, node);
}

/* Of which machine an object tells; "". */
static const char *
machine_uid(const struct cache_object *object, int source)
{
	const struct pod *pod = object->view;

	if (source != SOURCE_PODS)
		return object->uid;
	return pod == NULL ? "" : pod->vmi_uid;
}

static bool
has_seen(const struct handler *h, int source, const char *vmi_uid)
{
	struct cache_walk walk =
		cache_all(informer_cache(h->informers[source]));
	const struct cache_object *object;

	while ((object = cache_walk_next(&walk)) != NULL) {
		if (str_equal(machine_uid(object, source), vmi_uid))
			return true;
	}
	return false;
}

bool
handler_knows(const struct handler *h, const char *vmi_uid)
{
	struct map_node *node = NULL;

	if (prober_knows(h->prober, vmi_uid))
		return true;
	while ((node = map_next(&h->machines, node)) != NULL) {
		if (str_equal(MAP_ENTRY(node, struct machine, node)->uid,
			      vmi_uid))
			return true;
	}
	for (int source = 0; source < SOURCE_COUNT; source++) {
		if (has_seen(h, source, vmi_uid))
			return true;
	}
	return false;
}

/* Nothing is decided before all that there is has been seen: a machine that is
 * not seen yet would look like one that is gone. A ferry-proxy that does not
 * answer keeps migrations waiting and nothing else. */
static void
work(const char *key, void *arg)
{
	struct handler *h = arg;
	struct machine *m = find(h, key);

	if (!handler_is_settled(h)) {
		worker_end(h->worker, key, true);
		return;
	}
	if (m == NULL) {
		m = machine_new(h, key);
		map_put(&h->machines, &m->node, m->key);
	}
	if (machine_is_idle(m)) {
		map_remove(&h->machines, &m->node);
		worker_end(h->worker, key, false);
		machine_free(m);
		return;
	}
	machine_look(m);
}

/* Views. */

static void *
decode_vmi(json_t *object, void *arg)
{
	struct seen_vmi *seen = xmalloc0(sizeof(*seen));
	struct err err;

	(void)arg;
	seen->object = json_incref(object);
	seen->vmi = vmi_decode(object, &err);
	if (seen->vmi == NULL)
		log_warning(NULL, "a machine, ignoring: %s", err.text);
	return seen;
}

static void
release_vmi(void *view, void *arg)
{
	struct seen_vmi *seen = view;

	(void)arg;
	vmi_free(seen->vmi);
	json_decref(seen->object);
	free(seen);
}

static void *
decode_pod(json_t *object, void *arg)
{
	struct pod *pod;
	struct err err;

	(void)arg;
	pod = pod_decode(object, &err);
	if (pod == NULL)
		log_warning(NULL, "a pod, ignoring: %s", err.text);
	return pod;
}

static void
release_pod(void *view, void *arg)
{
	(void)arg;
	pod_free(view);
}

static const char *
machine_key(const struct cache_object *object, char key[KUBE_KEY_MAX])
{
	const struct pod *pod = object->view;

	if (pod == NULL || pod->vmi_name[0] == '\0')
		return "";
	return kube_key(object->ns, pod->vmi_name, key);
}

static void
pod_keys(const struct cache_object *object, struct cache_keys *keys)
{
	char key[KUBE_KEY_MAX];

	cache_add_key(keys, machine_key(object, key));
}

static const struct cache_index pod_indexes[POD_INDEX_COUNT] = {
	[PODS_BY_MACHINE] = { "machine", pod_keys },
};

/* Changes. */

static void
vmi_changed(const struct cache_object *object, void *arg)
{
	struct handler *h = arg;
	struct machine *m = find(h, object->key);

	if (m != NULL)
		machine_seen(m, object->version);
	handler_poke(h, object->key, 0);
}

static void
vmi_updated(const struct cache_object *old, const struct cache_object *object,
	    void *arg)
{
	(void)old;
	vmi_changed(object, arg);
}

static void
vmi_deleted(const struct cache_object *object, void *arg)
{
	handler_poke(arg, object->key, 0);
}

static void
pod_changed(const struct cache_object *object, void *arg)
{
	char key[KUBE_KEY_MAX];
	const char *machine = machine_key(object, key);

	if (machine[0] != '\0')
		handler_poke(arg, machine, 0);
}

static void
pod_updated(const struct cache_object *old, const struct cache_object *object,
	    void *arg)
{
	(void)old;
	pod_changed(object, arg);
}

/* Those too that could not be looked at so far. */
static void
poke_all(struct handler *h)
{
	struct map_node *node = NULL;

	while ((node = map_next(&h->machines, node)) != NULL)
		handler_poke(h, node->key, 0);
	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		struct cache_walk walk =
			cache_all(informer_cache(h->informers[i]));
		const struct cache_object *object;

		while ((object = cache_walk_next(&walk)) != NULL) {
			if (i == SOURCE_PODS)
				pod_changed(object, h);
			else
				handler_poke(h, object->key, 0);
		}
	}
}

static void
proxy_changed(void *arg)
{
	struct handler *h = arg;
	struct map_node *node = NULL;

	while (proxyctl_is_up(h->proxy) &&
	       (node = map_next(&h->machines, node)) != NULL)
		machine_proxy_changed(MAP_ENTRY(node, struct machine, node));
	poke_all(h);
}

static void
proxy_listed(void *arg)
{
	struct handler *h = arg;

	strays_stop(h->strays);
}

static struct informer *
follow_machines(struct handler *h, const char *label)
{
	AUTO(free_ptr)
	char *selector = xasprintf("%s=%s", label, h->options.node);
	struct informer_config config = {
		.client = h->client,
		.resource = api_vmis,
		.label_selector = selector,
		.cache = { .decode = decode_vmi, .release = release_vmi },
	};
	const struct informer_handler handler = {
		.added = vmi_changed,
		.updated = vmi_updated,
		.deleted = vmi_deleted,
		.arg = h,
	};
	struct informer *informer = informer_new(&config);

	informer_add_handler(informer, &handler);
	return informer;
}

static struct informer *
follow_pods(struct handler *h)
{
	AUTO(free_ptr)
	char *field = xasprintf("spec.nodeName=%s", h->options.node);
	struct informer_config config = {
		.client = h->client,
		.resource = kube_pods,
		.label_selector = LABEL_APP "=" APP_LAUNCHER,
		.field_selector = field,
		.cache = { .decode = decode_pod,
			   .release = release_pod,
			   .indexes = pod_indexes,
			   .index_count = POD_INDEX_COUNT },
	};
	const struct informer_handler handler = {
		.added = pod_changed,
		.updated = pod_updated,
		.deleted = pod_changed,
		.arg = h,
	};
	struct informer *informer = informer_new(&config);

	informer_add_handler(informer, &handler);
	return informer;
}

static bool
is_ready(void *arg)
{
	return handler_is_ready(arg);
}

static int
write_metrics(struct buf *buf, void *arg)
{
	const struct handler *h = arg;
	AUTO(free_ptr)
	struct meter_machine *machines =
		xcalloc(h->machines.count + 1, sizeof(*machines));
	const struct prom_single singles[] = {
		{ "ferry_handler_ready", "gauge",
		  "1 when all machines have been seen and ferry-proxy answers.",
		  handler_is_ready(h) ? 1 : 0 },
		{ "ferry_handler_proxy_up", "gauge",
		  "1 when ferry-proxy answers.",
		  proxyctl_is_up(h->proxy) ? 1 : 0 },
	};
	struct map_node *node = NULL;
	size_t count = 0;

	while ((node = map_next(&h->machines, node)) != NULL)
		machines[count++] =
			machine_measured(MAP_ENTRY(node, struct machine, node));
	if (prom_write_singles(buf, singles, ARRAY_LEN(singles)) == -1 ||
	    meter_write(&h->meter, h->options.node, machines, count, buf) == -1)
		return -1;
	return buf_append_str(buf, proxyctl_metrics(h->proxy));
}

static int
listen_for_scrapes(struct handler *h, struct err *err)
{
	const struct health_hooks hooks = { .ready = is_ready,
					    .metrics = write_metrics,
					    .arg = h };

	if (h->options.health.listen == NULL)
		return 0;
	h->health = health_server_new(h->options.loop, &h->options.health,
				      &hooks, err);
	return h->health == NULL ? -1 : 0;
}

static void
start(struct handler *h)
{
	struct kube_client_options client = {
		.loop = h->options.loop,
		.config = h->options.config,
		.user_agent = "ferry-handler/" FERRY_VERSION,
	};
	struct worker_config worker = {
		.loop = h->options.loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = h,
	};
	struct proxyctl_config proxy = {
		.loop = h->options.loop,
		.path = h->options.proxy_control,
		.changed = proxy_changed,
		.listed = proxy_listed,
		.arg = h,
	};

	h->client = kube_client_new(&client);
	h->events = events_new_for(h->client, COMPONENT);
	h->worker = worker_new(&worker);
	h->strays = strays_new(h, h->options.loop);
	h->proxy = proxyctl_new(&proxy);
	h->informers[SOURCE_HERE] = follow_machines(h, LABEL_NODE);
	h->informers[SOURCE_RECEIVED] =
		follow_machines(h, LABEL_MIGRATION_TARGET_NODE);
	h->informers[SOURCE_PODS] = follow_pods(h);
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		informer_start(h->informers[i]);
	h->labels = nodelabels_new(&(struct nodelabels_config){
		.loop = h->options.loop,
		.client = h->client,
		.node = h->options.node,
		.host = h->host,
	});
	h->prober = prober_new(h);
}

struct handler *
handler_start(const struct handler_options *options, struct err *err)
{
	struct host *host = host_load(options->host_dir, err);
	struct handler *h;

	if (host == NULL)
		return NULL;
	h = xmalloc0(sizeof(*h));
	h->options = *options;
	h->host = host;
	h->meter.since_us = time_now_us();
	if (listen_for_scrapes(h, err) == -1) {
		host_free(host);
		free(h);
		return NULL;
	}
	start(h);
	return h;
}

void
handler_free(struct handler *h)
{
	struct map_node *node;

	if (h == NULL)
		return;
	health_server_free(h->health);
	prober_free(h->prober);
	nodelabels_free(h->labels);
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		informer_stop(h->informers[i]);
	worker_free(h->worker);
	while ((node = map_next(&h->machines, NULL)) != NULL) {
		map_remove(&h->machines, node);
		machine_free(MAP_ENTRY(node, struct machine, node));
	}
	map_done(&h->machines);
	strays_free(h->strays);
	proxyctl_free(h->proxy);
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		informer_free(h->informers[i]);
	events_free(h->events);
	kube_client_free(h->client);
	host_free(h->host);
	free(h);
}
