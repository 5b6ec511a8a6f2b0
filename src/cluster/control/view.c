/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "cluster/control/terms.h"

struct name_space {
	struct map_node node;
	char *name;
	json_t *labels;
};

static const json_t *
namespace_labels(void *arg, const char *ns)
{
	const struct view *view = arg;
	const struct map_node *node = map_get(&view->namespaces, ns);

	return node == NULL ? NULL
			    : MAP_ENTRY(node, struct name_space, node)->labels;
}

struct view *
view_new(void)
{
	struct view *view = xmalloc0(sizeof(*view));

	view->terms = terms_new(namespace_labels, view);
	return view;
}

/* Nodes. */

static struct node *
node_get(struct view *view, const char *name)
{
	struct map_node *found = map_get(&view->nodes, name);
	struct node *node;

	if (found != NULL)
		return MAP_ENTRY(found, struct node, node);
	node = xmalloc0(sizeof(*node));
	node->name = xstrdup(name);
	node->uid = xstrdup("");
	map_put(&view->nodes, &node->node, node->name);
	return node;
}

static void
node_release(struct view *view, struct node *node)
{
	if (node->known || node->pods != NULL)
		return;
	map_remove(&view->nodes, &node->node);
	node_clear(node);
	amounts_done(&node->used);
	free(node->name);
	free(node->uid);
	free(node);
}

static void
list_add(struct view *view, struct node *node)
{
	if (view->count == view->size) {
		view->size = view->size == 0 ? 16 : view->size * 2;
		view->list = xrealloc((void *)view->list,
				      view->size * sizeof(struct node *));
	}
	node->place = view->count;
	view->list[view->count++] = node;
}

static void
list_remove(struct view *view, struct node *node)
{
	struct node *last = view->list[--view->count];

	view->list[node->place] = last;
	last->place = node->place;
}

/* Pods. */

static struct claim *claim_get(struct view *view, const char *ns,
			       const char *name);
static void claim_release(struct view *view, struct claim *claim);

/* What the pod takes of its node, or gives back. */
static void
node_use(struct node *node, const struct pod *pod, int sign)
{
	amounts_add_all(&node->used, &pod->requests, sign);
	node->nonzero_cpu += sign * pod->nonzero_cpu;
	node->nonzero_memory += sign * pod->nonzero_memory;
	node->pod_count += (size_t)sign;
}

static void
place(struct view *view, struct pod *pod, const char *name)
{
	struct node *node = node_get(view, name);

	pod->on = node;
	pod->prev_on = NULL;
	pod->next_on = node->pods;
	if (pod->next_on != NULL)
		pod->next_on->prev_on = pod;
	node->pods = pod;
	node_use(node, pod, 1);
	for (size_t i = 0; i < pod->claim_count; i++)
		claim_get(view, pod->ns, pod->claims[i])->users++;
	terms_place(view->terms, pod);
}

static void
displace(struct view *view, struct pod *pod)
{
	struct node *node = pod->on;

	terms_displace(view->terms, pod);
	for (size_t i = 0; i < pod->claim_count; i++) {
		struct claim *claim = claim_get(view, pod->ns, pod->claims[i]);

		claim->users--;
		claim_release(view, claim);
	}
	node_use(node, pod, -1);
	if (pod->prev_on != NULL)
		pod->prev_on->next_on = pod->next_on;
	else
		node->pods = pod->next_on;
	if (pod->next_on != NULL)
		pod->next_on->prev_on = pod->prev_on;
	pod->on = NULL;
	node_release(view, node);
}

struct pod *
view_pod(const struct view *view, const char *key)
{
	struct map_node *node = map_get(&view->pods, key);

	return node == NULL ? NULL : MAP_ENTRY(node, struct pod, node);
}

struct pod *
view_take_pod(struct view *view, const char *key)
{
	struct pod *pod = view_pod(view, key);

	if (pod == NULL)
		return NULL;
	if (pod->on != NULL)
		displace(view, pod);
	terms_detach(view->terms, pod);
	map_remove(&view->pods, &pod->node);
	return pod;
}

void
view_remove_pod(struct view *view, const char *key)
{
	struct pod *pod = view_take_pod(view, key);

	if (pod != NULL)
		pod_free(pod);
}

struct pod *
view_swap_pod(struct view *view, const json_t *obj, uint64_t rv,
	      struct pod **ret_old)
{
	struct pod *pod = pod_new(obj, rv);
	struct pod *old = view_pod(view, pod->key);

	if (old != NULL && old->assumed != NULL && *pod->node_name == '\0' &&
	    strcmp(old->uid, pod->uid) == 0)
		pod->assumed = xstrdup(old->assumed);
	/* The new one's terms first: those of the old one live on in it. */
	terms_attach(view->terms, pod);
	*ret_old = old == NULL ? NULL : view_take_pod(view, pod->key);
	map_put(&view->pods, &pod->node, pod->key);
	if (pod->finished)
		return pod;
	if (*pod->node_name != '\0')
		place(view, pod, pod->node_name);
	else if (pod->assumed != NULL)
		place(view, pod, pod->assumed);
	return pod;
}

struct pod *
view_set_pod(struct view *view, const json_t *obj, uint64_t rv)
{
	struct pod *old;
	struct pod *pod = view_swap_pod(view, obj, rv, &old);

	if (old != NULL)
		pod_free(old);
	return pod;
}

void
view_assume(struct view *view, struct pod *pod, struct node *node)
{
	view_forget(view, pod);
	pod->assumed = xstrdup(node->name);
	place(view, pod, node->name);
}

void
view_forget(struct view *view, struct pod *pod)
{
	if (pod->assumed == NULL)
		return;
	free(pod->assumed);
	pod->assumed = NULL;
	if (pod->on != NULL && *pod->node_name == '\0')
		displace(view, pod);
}

/* Nodes again: pods count by the labels of their node, so they are taken away
 * while those change. */

static void
terms_of_node(struct view *view, struct node *node,
	      void (*fn)(struct terms *terms, struct pod *pod))
{
	for (struct pod *pod = node->pods; pod != NULL; pod = pod->next_on)
		fn(view->terms, pod);
}

struct node *
view_set_node(struct view *view, const json_t *obj)
{
	struct node *node = node_get(view, js_str_at(obj, "metadata.name"));
	bool moved = !json_equal(node->labels, js_at(obj, "metadata.labels"));

	if (moved)
		terms_of_node(view, node, terms_displace);
	if (!node->known)
		list_add(view, node);
	node_set(node, obj);
	if (moved)
		terms_of_node(view, node, terms_place);
	return node;
}

void
view_remove_node(struct view *view, const char *name)
{
	struct node *node = view_node(view, name);

	if (node == NULL)
		return;
	terms_of_node(view, node, terms_displace);
	list_remove(view, node);
	node_clear(node);
	terms_of_node(view, node, terms_place);
	node_release(view, node);
}

struct node *
view_node(const struct view *view, const char *name)
{
	struct map_node *found = map_get(&view->nodes, name);
	struct node *node =
		found == NULL ? NULL : MAP_ENTRY(found, struct node, node);

	return node != NULL && node->known ? node : NULL;
}

/* Volumes, by class. */

struct storage_class *
view_class(const struct view *view, const char *name)
{
	struct map_node *found = map_get(&view->classes, name);

	return found == NULL ? NULL
			     : MAP_ENTRY(found, struct storage_class, node);
}

static struct storage_class *
class_get(struct view *view, const char *name)
{
	struct storage_class *sc = view_class(view, name);

	if (sc != NULL)
		return sc;
	sc = xmalloc0(sizeof(*sc));
	sc->name = xstrdup(name);
	map_put(&view->classes, &sc->node, sc->name);
	return sc;
}

static void
class_release(struct view *view, struct storage_class *sc)
{
	if (sc->known || sc->volumes != NULL)
		return;
	map_remove(&view->classes, &sc->node);
	free(sc->name);
	free(sc);
}

void
view_set_class(struct view *view, const json_t *obj)
{
	class_set(class_get(view, js_str_at(obj, "metadata.name")), obj);
}

void
view_remove_class(struct view *view, const char *name)
{
	struct storage_class *sc = view_class(view, name);

	if (sc == NULL || !sc->known)
		return;
	class_clear(sc);
	class_release(view, sc);
}

struct volume *
view_volume(const struct view *view, const char *name)
{
	struct map_node *found = map_get(&view->volumes, name);

	return found == NULL ? NULL : MAP_ENTRY(found, struct volume, node);
}

void
view_remove_volume(struct view *view, const char *name)
{
	struct volume *v = view_volume(view, name);

	if (v == NULL)
		return;
	if (v->prev != NULL)
		v->prev->next = v->next;
	else
		v->of->volumes = v->next;
	if (v->next != NULL)
		v->next->prev = v->prev;
	class_release(view, v->of);
	map_remove(&view->volumes, &v->node);
	volume_free(v);
}

struct volume *
view_set_volume(struct view *view, const json_t *obj)
{
	struct volume *v = volume_new(obj);

	view_remove_volume(view, v->name);
	map_put(&view->volumes, &v->node, v->name);
	v->of = class_get(view, v->class_name);
	v->next = v->of->volumes;
	if (v->next != NULL)
		v->next->prev = v;
	v->of->volumes = v;
	return v;
}

void
view_reserve(struct volume *volume, const struct claim *claim)
{
	free(volume->claim_key);
	free(volume->claim_uid);
	volume->claim_key = xstrdup(claim->key);
	volume->claim_uid = xstrdup(claim->uid);
}

/* Claims. */

static struct claim *
claim_get(struct view *view, const char *ns, const char *name)
{
	char *key = xasprintf("%s/%s", ns, name);
	struct map_node *found = map_get(&view->claims, key);
	struct claim *claim;

	if (found != NULL) {
		free(key);
		return MAP_ENTRY(found, struct claim, node);
	}
	claim = xmalloc0(sizeof(*claim));
	claim->key = key;
	claim->ns = xstrdup(ns);
	claim->name = xstrdup(name);
	map_put(&view->claims, &claim->node, claim->key);
	return claim;
}

static void
claim_release(struct view *view, struct claim *claim)
{
	if (claim->known || claim->users > 0)
		return;
	map_remove(&view->claims, &claim->node);
	claim_clear(claim);
	free(claim->key);
	free(claim->ns);
	free(claim->name);
	free(claim);
}

struct claim *
view_set_claim(struct view *view, const json_t *obj)
{
	struct claim *claim =
		claim_get(view, js_str_at(obj, "metadata.namespace"),
			  js_str_at(obj, "metadata.name"));

	claim_set(claim, obj);
	return claim;
}

static struct claim *
claim_known(const struct view *view, const char *key)
{
	struct map_node *found = map_get(&view->claims, key);
	struct claim *claim =
		found == NULL ? NULL : MAP_ENTRY(found, struct claim, node);

	return claim != NULL && claim->known ? claim : NULL;
}

struct claim *
view_claim(const struct view *view, const char *ns, const char *name)
{
	AUTO(free_ptr) char *key = xasprintf("%s/%s", ns, name);

	return claim_known(view, key);
}

void
view_remove_claim(struct view *view, const char *key)
{
	struct claim *claim = claim_known(view, key);

	if (claim == NULL)
		return;
	claim_clear(claim);
	claim_release(view, claim);
}

/* Namespaces. */

void
view_remove_namespace(struct view *view, const char *name)
{
	struct map_node *found = map_get(&view->namespaces, name);
	struct name_space *ns;

	if (found == NULL)
		return;
	ns = MAP_ENTRY(found, struct name_space, node);
	map_remove(&view->namespaces, found);
	json_decref(ns->labels);
	free(ns->name);
	free(ns);
	terms_recount(view->terms);
}

void
view_set_namespace(struct view *view, const json_t *obj)
{
	const char *name = js_str_at(obj, "metadata.name");
	struct map_node *found = map_get(&view->namespaces, name);
	json_t *labels = js_at(obj, "metadata.labels");
	struct name_space *ns;

	if (found != NULL) {
		ns = MAP_ENTRY(found, struct name_space, node);
		if (json_equal(ns->labels, labels))
			return;
	} else {
		ns = xmalloc0(sizeof(*ns));
		ns->name = xstrdup(name);
		map_put(&view->namespaces, &ns->node, ns->name);
	}
	json_decref(ns->labels);
	ns->labels = json_incref(labels);
	terms_recount(view->terms);
}

/* Empties a map with the function that removes one of its keys. */
static void
remove_all(struct view *view, const struct map *map,
	   void (*remove)(struct view *view, const char *key))
{
	struct map_node *node = map_next(map, NULL);

	while (node != NULL) {
		struct map_node *next = map_next(map, node);

		remove(view, node->key);
		node = next;
	}
}

void
view_free(struct view *view)
{
	if (view == NULL)
		return;
	/* In this order each leaves nothing behind that only spoke of it. */
	remove_all(view, &view->pods, view_remove_pod);
	remove_all(view, &view->nodes, view_remove_node);
	remove_all(view, &view->claims, view_remove_claim);
	remove_all(view, &view->volumes, view_remove_volume);
	remove_all(view, &view->classes, view_remove_class);
	remove_all(view, &view->namespaces, view_remove_namespace);
	terms_free(view->terms);
	map_done(&view->pods);
	map_done(&view->nodes);
	map_done(&view->claims);
	map_done(&view->volumes);
	map_done(&view->classes);
	map_done(&view->namespaces);
	free((void *)view->list);
	free(view);
}
