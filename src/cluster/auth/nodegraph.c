/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/nodegraph.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/auth/podrefs.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

_Static_assert((int)NODEGRAPH_SECRET == (int)PODREF_SECRET &&
		       (int)NODEGRAPH_CONFIG_MAP == (int)PODREF_CONFIG_MAP &&
		       (int)NODEGRAPH_CLAIM == (int)PODREF_CLAIM &&
		       (int)NODEGRAPH_SERVICE_ACCOUNT ==
			       (int)PODREF_SERVICE_ACCOUNT,
	       "what a pod refers to is part of the graph");

/* Of more references of one pod only so many count. */
#define REFS_MAX 4096

/* That a node's pods lead to an object, and how often. */
struct edge {
	struct map_node node;
	unsigned count;
	char key[]; /* see edge_key() */
};

struct pod {
	struct map_node node;
	char *key; /* "ns/name" */
	char *uid;
	char *on; /* the node */
	struct edge **edges;
	size_t count;
	size_t size;
};

/* A secret that volumes need. */
struct needed {
	struct map_node node;
	char *key; /* "ns/name" */
	struct volume **volumes;
	size_t count;
	size_t size;
};

struct volume {
	struct map_node node;
	char *name;
	char *claim_ns;
	char *claim;
	struct needed **secrets;
	size_t count;
};

struct nodegraph {
	struct map edges;
	struct map pods;
	struct map volumes;
	struct map secrets; /* struct needed */
	struct subscription *pods_sub;
	struct subscription *volumes_sub;
};

/* Where a PersistentVolume names secrets. */
static const char *const volume_secrets[] = {
	"spec.cephfs.secretRef",
	"spec.cinder.secretRef",
	"spec.csi.controllerExpandSecretRef",
	"spec.csi.controllerPublishSecretRef",
	"spec.csi.nodeExpandSecretRef",
	"spec.csi.nodePublishSecretRef",
	"spec.csi.nodeStageSecretRef",
	"spec.flexVolume.secretRef",
	"spec.iscsi.secretRef",
	"spec.rbd.secretRef",
	"spec.scaleIO.secretRef",
	"spec.storageos.secretRef",
};

/* Names have no line ends, so that no two objects have the same key. */
static char *
edge_key(const char *node, enum nodegraph_type type, const char *ns,
	 const char *name)
{
	return xasprintf("%s\n%d\n%s/%s", node, (int)type, ns, name);
}

static void
edge_add(struct nodegraph *graph, struct pod *pod, const char *key)
{
	struct map_node *node = map_get(&graph->edges, key);
	struct edge *edge;

	if (pod->count == REFS_MAX)
		return;
	if (node) {
		edge = MAP_ENTRY(node, struct edge, node);
	} else {
		edge = xmalloc0(sizeof(*edge) + strlen(key) + 1);
		memcpy(edge->key, key, strlen(key) + 1);
		map_put(&graph->edges, &edge->node, edge->key);
	}
	edge->count++;
	if (pod->count == pod->size) {
		pod->size = pod->size ? pod->size * 2 : 4;
		pod->edges = xrealloc((void *)pod->edges,
				      pod->size * sizeof(struct edge *));
	}
	pod->edges[pod->count++] = edge;
}

static void
pod_drop(struct nodegraph *graph, struct pod *pod)
{
	map_remove(&graph->pods, &pod->node);
	for (size_t i = 0; i < pod->count; i++) {
		struct edge *edge = pod->edges[i];

		if (--edge->count)
			continue;
		map_remove(&graph->edges, &edge->node);
		free(edge);
	}
	free((void *)pod->edges);
	free(pod->key);
	free(pod->uid);
	free(pod->on);
	free(pod);
}

struct adding {
	struct nodegraph *graph;
	struct pod *pod;
	const char *ns;
};

static void
add_ref(enum podref type, const char *name, void *arg)
{
	struct adding *adding = arg;
	AUTO(free_ptr)
	char *key = edge_key(adding->pod->on, (enum nodegraph_type)type,
			     adding->ns, name);

	edge_add(adding->graph, adding->pod, key);
}

static void
pod_add(struct nodegraph *graph, const struct object *object,
	const json_t *json, const char *on)
{
	struct pod *pod = xmalloc0(sizeof(*pod));
	struct adding adding = { graph, pod, object->namespace_ };
	AUTO(free_ptr)
	char *self =
		edge_key(on, NODEGRAPH_POD, object->namespace_, object->name);

	pod->key = object_key(object);
	pod->uid = xstrdup(object->uid);
	pod->on = xstrdup(on);
	map_put(&graph->pods, &pod->node, pod->key);
	edge_add(graph, pod, self);
	if (!json_object_get(js_obj_at(json, "metadata.annotations"),
			     PODREFS_MIRROR))
		podrefs_each(json, add_ref, &adding);
}

static void
on_pod(const struct event *event, void *arg)
{
	struct nodegraph *graph = arg;
	const struct object *object = event->object;
	AUTO(free_ptr) char *key = object_key(object);
	struct map_node *node = map_get(&graph->pods, key);
	AUTO(js_unref) json_t *json = NULL;
	const char *on;

	if (node) {
		struct pod *pod = MAP_ENTRY(node, struct pod, node);

		/* A bound pod stays on its node. */
		if (event->type != EVENT_DELETED &&
		    strcmp(pod->uid, object->uid) == 0)
			return;
		pod_drop(graph, pod);
	}
	if (event->type == EVENT_DELETED)
		return;
	json = object_json(object);
	on = js_str_at(json, "spec.nodeName");
	if (*on)
		pod_add(graph, object, json, on);
}

static void
need_add(struct nodegraph *graph, struct volume *volume, const char *ns,
	 const char *name)
{
	AUTO(free_ptr) char *key = xasprintf("%s/%s", ns, name);
	struct map_node *node = map_get(&graph->secrets, key);
	struct needed *needed;

	if (node) {
		needed = MAP_ENTRY(node, struct needed, node);
	} else {
		needed = xmalloc0(sizeof(*needed));
		needed->key = TAKE_PTR(key);
		map_put(&graph->secrets, &needed->node, needed->key);
	}
	if (needed->count == needed->size) {
		needed->size = needed->size ? needed->size * 2 : 2;
		needed->volumes =
			xrealloc((void *)needed->volumes,
				 needed->size * sizeof(struct volume *));
	}
	needed->volumes[needed->count++] = volume;
	volume->secrets[volume->count++] = needed;
}

static void
need_drop(struct nodegraph *graph, struct needed *needed,
	  const struct volume *volume)
{
	for (size_t i = 0; i < needed->count; i++) {
		if (needed->volumes[i] != volume)
			continue;
		needed->volumes[i] = needed->volumes[--needed->count];
		break;
	}
	if (needed->count)
		return;
	map_remove(&graph->secrets, &needed->node);
	free((void *)needed->volumes);
	free(needed->key);
	free(needed);
}

static void
volume_drop(struct nodegraph *graph, struct volume *volume)
{
	map_remove(&graph->volumes, &volume->node);
	for (size_t i = 0; i < volume->count; i++)
		need_drop(graph, volume->secrets[i], volume);
	free((void *)volume->secrets);
	free(volume->name);
	free(volume->claim_ns);
	free(volume->claim);
	free(volume);
}

static void
volume_add(struct nodegraph *graph, const char *name, const json_t *json)
{
	struct volume *volume = xmalloc0(sizeof(*volume));

	volume->name = xstrdup(name);
	volume->claim_ns = xstrdup(js_str_at(json, "spec.claimRef.namespace"));
	volume->claim = xstrdup(js_str_at(json, "spec.claimRef.name"));
	volume->secrets =
		xcalloc(ARRAY_LEN(volume_secrets), sizeof(struct needed *));
	map_put(&graph->volumes, &volume->node, volume->name);
	for (size_t i = 0; i < ARRAY_LEN(volume_secrets); i++) {
		const json_t *ref = js_obj_at(json, volume_secrets[i]);
		const char *ns = js_str_at(ref, "namespace");

		if (*js_str_at(ref, "name"))
			need_add(graph, volume, *ns ? ns : volume->claim_ns,
				 js_str_at(ref, "name"));
	}
}

static void
on_volume(const struct event *event, void *arg)
{
	struct nodegraph *graph = arg;
	const char *name = event->object->name;
	struct map_node *node = map_get(&graph->volumes, name);
	AUTO(js_unref) json_t *json = NULL;

	if (node)
		volume_drop(graph, MAP_ENTRY(node, struct volume, node));
	if (event->type == EVENT_DELETED)
		return;
	json = object_json(event->object);
	if (*js_str_at(json, "spec.claimRef.name"))
		volume_add(graph, name, json);
}

struct nodegraph *
nodegraph_new(struct store *store)
{
	struct nodegraph *graph = xmalloc0(sizeof(*graph));

	graph->pods_sub = follow(store, "", "pods", on_pod, graph);
	graph->volumes_sub =
		follow(store, "", "persistentvolumes", on_volume, graph);
	return graph;
}

void
nodegraph_free(struct nodegraph *graph)
{
	struct map_node *node;
	struct map_node *next;

	if (!graph)
		return;
	unsubscribe(graph->pods_sub);
	unsubscribe(graph->volumes_sub);
	for (node = map_next(&graph->pods, NULL); node; node = next) {
		next = map_next(&graph->pods, node);
		pod_drop(graph, MAP_ENTRY(node, struct pod, node));
	}
	for (node = map_next(&graph->volumes, NULL); node; node = next) {
		next = map_next(&graph->volumes, node);
		volume_drop(graph, MAP_ENTRY(node, struct volume, node));
	}
	map_done(&graph->pods);
	map_done(&graph->volumes);
	map_done(&graph->edges);
	map_done(&graph->secrets);
	free(graph);
}

static bool
has_edge(const struct nodegraph *graph, const char *on,
	 enum nodegraph_type type, const char *ns, const char *name)
{
	AUTO(free_ptr) char *key = edge_key(on, type, ns, name);

	return map_get(&graph->edges, key) != NULL;
}

/* Through a volume's claim. */
static bool
volume_leads(const struct nodegraph *graph, const char *on,
	     const struct volume *volume)
{
	return has_edge(graph, on, NODEGRAPH_CLAIM, volume->claim_ns,
			volume->claim);
}

bool
nodegraph_leads(const struct nodegraph *graph, const char *on,
		enum nodegraph_type type, const char *ns, const char *name)
{
	AUTO(free_ptr) char *key = NULL;
	const struct needed *needed;
	struct map_node *node;

	if (type == NODEGRAPH_VOLUME) {
		node = map_get(&graph->volumes, name);
		return node &&
		       volume_leads(graph, on,
				    MAP_ENTRY(node, struct volume, node));
	}
	if (has_edge(graph, on, type, ns, name))
		return true;
	if (type != NODEGRAPH_SECRET)
		return false;
	key = xasprintf("%s/%s", ns, name);
	node = map_get(&graph->secrets, key);
	if (!node)
		return false;
	needed = MAP_ENTRY(node, struct needed, node);
	for (size_t i = 0; i < needed->count; i++) {
		if (volume_leads(graph, on, needed->volumes[i]))
			return true;
	}
	return false;
}
