/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/terms.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "cluster/control/model.h"
#include "meta/selector.h"
#include "meta/status.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"
/* An object is smaller than this, and so is what is written about it. */
#define TEXT_MAX (8U << 20)

/* Pods in some namespaces with some labels. */
struct scope {
	json_t *namespaces;           /* names; NULL: none by name */
	struct selector *ns_selector; /* NULL: none by label */
	struct selector *selector;
};

struct term {
	struct map_node node; /* in terms->all */
	char *text;           /* what makes it different from others */
	char *topology_key;
	unsigned refs;
	/* A pod matches when it is in all of them. */
	struct scope *scopes;
	size_t scope_count;
	struct map domains;
	int64_t total; /* of matching */
	struct bucket *bucket;
	struct term *next, *prev; /* in the bucket */
};

/* A pod in the bucket of one of its labels. */
struct pod_label {
	struct pod *pod;
	struct bucket *bucket;
	struct pod_label *next, *prev;
};

/*
 * What has one label: "ns/key=value" holds pods of a namespace and the terms
 * for that namespace alone, "/key=value" terms for several. "ns/" and "" are
 * the same without a label: all pods, and terms that demand none.
 */
struct bucket {
	struct map_node node;
	struct pod_label *pods;
	struct term *terms;
	char key[];
};

struct terms {
	struct map all;
	struct map buckets;
	size_t asking; /* terms that ask for labels of namespaces */
	terms_namespace_fn *labels;
	void *arg;
};

struct terms *
terms_new(terms_namespace_fn *labels, void *arg)
{
	struct terms *terms = xmalloc0(sizeof(*terms));

	terms->labels = labels;
	terms->arg = arg;
	return terms;
}

void
terms_free(struct terms *terms)
{
	if (terms == NULL)
		return;
	map_done(&terms->all);
	map_done(&terms->buckets);
	free(terms);
}

size_t
terms_count(const struct terms *terms)
{
	return terms->all.count;
}

/* Buckets. */

static struct bucket *
bucket_find(const struct terms *terms, const char *key)
{
	struct map_node *node = map_get(&terms->buckets, key);

	return node == NULL ? NULL : MAP_ENTRY(node, struct bucket, node);
}

static struct bucket *
bucket_get(struct terms *terms, const char *key)
{
	struct bucket *bucket = bucket_find(terms, key);
	size_t len = strlen(key);

	if (bucket != NULL)
		return bucket;
	bucket = xmalloc0(sizeof(*bucket) + len + 1);
	memcpy(bucket->key, key, len);
	map_put(&terms->buckets, &bucket->node, bucket->key);
	return bucket;
}

static void
bucket_release(struct terms *terms, struct bucket *bucket)
{
	if (bucket->pods != NULL || bucket->terms != NULL)
		return;
	map_remove(&terms->buckets, &bucket->node);
	free(bucket);
}

static char *
bucket_key(const char *ns, const char *label, const char *value)
{
	return xasprintf("%s/%s=%s", ns, label, value);
}

char *
terms_label_key(const char *ns, const json_t *label_selector,
		const struct selector *selector)
{
	const char *label;
	json_t *value;
	size_t i;
	json_t *each;

	json_object_foreach(js_at(label_selector, "matchLabels"), label, value)
	{
		if (json_is_string(value))
			return bucket_key(ns, label, json_string_value(value));
	}
	json_array_foreach(js_at(label_selector, "matchExpressions"), i, each)
	{
		const char *key = js_str_at(each, "key");
		const char *only = selector_exact_value(selector, key);

		if (only != NULL)
			return bucket_key(ns, key, only);
	}
	return *ns == '\0' ? xstrdup("") : xasprintf("%s/", ns);
}

static void
link_pod(struct terms *terms, struct pod_label *at, struct pod *pod,
	 const char *key)
{
	at->pod = pod;
	at->bucket = bucket_get(terms, key);
	at->prev = NULL;
	at->next = at->bucket->pods;
	if (at->next != NULL)
		at->next->prev = at;
	at->bucket->pods = at;
}

static void
unlink_pod(struct terms *terms, struct pod_label *at)
{
	if (at->prev != NULL)
		at->prev->next = at->next;
	else
		at->bucket->pods = at->next;
	if (at->next != NULL)
		at->next->prev = at->prev;
	bucket_release(terms, at->bucket);
}

/* Matching. */

static bool
scope_matches(const struct terms *terms, const struct scope *scope,
	      const struct pod *pod)
{
	bool inside = false;
	size_t i;
	json_t *name;

	json_array_foreach(scope->namespaces, i, name)
	{
		if (strcmp(json_string_value(name), pod->ns) == 0) {
			inside = true;
			break;
		}
	}
	if (!inside && scope->ns_selector != NULL)
		inside = selector_matches(scope->ns_selector,
					  terms->labels(terms->arg, pod->ns));
	return inside && selector_matches(scope->selector, pod->labels);
}

bool
term_matches(const struct terms *terms, const struct term *term,
	     const struct pod *pod)
{
	for (size_t i = 0; i < term->scope_count; i++) {
		if (!scope_matches(terms, &term->scopes[i], pod))
			return false;
	}
	return true;
}

const char *
term_topology_key(const struct term *term)
{
	return term->topology_key;
}

bool
term_has_any(const struct term *term)
{
	return term->total > 0;
}

const char *
term_value(const struct term *term, const struct node *node)
{
	return json_string_value(
		json_object_get(node->labels, term->topology_key));
}

const struct domain *
term_domain(const struct term *term, const char *value)
{
	struct map_node *node =
		value == NULL ? NULL : map_get(&term->domains, value);

	return node == NULL ? NULL : MAP_ENTRY(node, struct domain, node);
}

/* What one pod adds to, or takes from, the domain it is in. */
static void
domain_count(struct term *term, const struct pod *pod,
	     const struct domain *change, int sign)
{
	const char *value = term_value(term, pod->on);
	struct domain *domain;
	size_t len;

	if (value == NULL)
		return;
	domain = (struct domain *)(uintptr_t)term_domain(term, value);
	if (domain == NULL) {
		len = strlen(value);
		domain = xmalloc0(sizeof(*domain) + len + 1);
		memcpy(domain->value, value, len);
		map_put(&term->domains, &domain->node, domain->value);
	}
	domain->matching += sign * change->matching;
	domain->anti += sign * change->anti;
	domain->weight += sign * change->weight;
	term->total += sign * change->matching;
	if (domain->matching == 0 && domain->anti == 0 && domain->weight == 0) {
		map_remove(&term->domains, &domain->node);
		free(domain);
	}
}

static const struct domain one_match = { .matching = 1 };

static size_t
add_matching(const struct terms *terms, const struct pod *pod, const char *key,
	     struct term ***list, size_t len)
{
	const struct bucket *bucket = bucket_find(terms, key);

	if (bucket == NULL)
		return len;
	for (struct term *t = bucket->terms; t != NULL; t = t->next) {
		if (!term_matches(terms, t, pod))
			continue;
		/* At powers of two: the array is full. */
		if ((len & (len - 1)) == 0)
			*list = xrealloc((void *)*list,
					 (len == 0 ? 1 : len * 2) *
						 sizeof(struct term *));
		(*list)[len++] = t;
	}
	return len;
}

size_t
terms_of(const struct terms *terms, const struct pod *pod,
	 struct term ***ret_terms)
{
	AUTO(free_ptr) char *all_here = xasprintf("%s/", pod->ns);
	size_t len = 0;
	const char *label;
	json_t *value;

	*ret_terms = NULL;
	len = add_matching(terms, pod, "", ret_terms, len);
	len = add_matching(terms, pod, all_here, ret_terms, len);
	json_object_foreach(pod->labels, label, value)
	{
		const char *text = json_string_value(value);
		AUTO(free_ptr) char *here = NULL;
		AUTO(free_ptr) char *anywhere = NULL;

		if (text == NULL)
			continue;
		here = bucket_key(pod->ns, label, text);
		anywhere = bucket_key("", label, text);
		len = add_matching(terms, pod, here, ret_terms, len);
		len = add_matching(terms, pod, anywhere, ret_terms, len);
	}
	return len;
}

/* Terms. */

static void
scopes_free(struct scope *scopes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		json_decref(scopes[i].namespaces);
		selector_free(scopes[i].ns_selector);
		selector_free(scopes[i].selector);
	}
	free(scopes);
}

static struct selector *
selector_or_nothing(const json_t *obj)
{
	struct status st = { 0 };
	struct selector *sel = selector_from_json(obj, &st);

	status_done(&st);
	return sel != NULL ? sel : selector_from_json(NULL, &st);
}

/* Which pods a PodAffinityTerm (or a spread constraint) of the pod is about. */
static void
scope_set(struct scope *scope, const struct pod *pod, const json_t *obj)
{
	json_t *names = js_at(obj, "namespaces");
	const json_t *ns_selector = js_at(obj, "namespaceSelector");

	if (json_array_size(names) > 0)
		scope->namespaces = json_incref(names);
	else if (ns_selector == NULL)
		scope->namespaces = json_pack("[s]", pod->ns);
	if (ns_selector != NULL)
		scope->ns_selector = selector_or_nothing(ns_selector);
	scope->selector = selector_or_nothing(js_at(obj, "labelSelector"));
}

static void
describe_part(struct buf *buf, const json_t *value)
{
	AUTO(free_ptr)
	char *text = value == NULL ? xstrdup("-") : js_text(value);

	(void)buf_append_str(buf, text);
}

/* Equal texts are equal terms; the other way round is not needed. */
static char *
describe(const struct pod *pod, const json_t *const *objs, size_t len,
	 const char *topology_key)
{
	struct buf buf = BUF_INIT(TEXT_MAX);

	(void)buf_append_str(&buf, topology_key);
	for (size_t i = 0; i < len; i++) {
		const json_t *names = js_at(objs[i], "namespaces");

		(void)buf_append_str(&buf, "\n");
		if (json_array_size(names) > 0)
			describe_part(&buf, names);
		else if (js_at(objs[i], "namespaceSelector") == NULL)
			(void)buf_append_str(&buf, pod->ns);
		(void)buf_append_str(&buf, "\n");
		describe_part(&buf, js_at(objs[i], "namespaceSelector"));
		(void)buf_append_str(&buf, "\n");
		describe_part(&buf, js_at(objs[i], "labelSelector"));
	}
	return (char *)buf.data;
}

/* The bucket in which pods that can match will look for the term. */
static char *
index_key(const struct term *term, const json_t *label_selector)
{
	const struct scope *scope = &term->scopes[0];
	const char *ns = "";

	if (json_array_size(scope->namespaces) == 1 &&
	    scope->ns_selector == NULL)
		ns = json_string_value(json_array_get(scope->namespaces, 0));
	return terms_label_key(ns, label_selector, scope->selector);
}

/* Counts the pods that are there already. */
static void
term_count_all(struct terms *terms, struct term *term)
{
	const struct bucket *bucket = term->bucket;

	/* For several namespaces the pods are in several buckets. */
	if (bucket->key[0] == '/')
		bucket = bucket_find(terms, "");
	if (bucket == NULL)
		return;
	for (struct pod_label *at = bucket->pods; at != NULL; at = at->next) {
		if (at->pod->on != NULL && term_matches(terms, term, at->pod))
			domain_count(term, at->pod, &one_match, 1);
	}
}

static bool
asks_namespaces(const struct term *term)
{
	for (size_t i = 0; i < term->scope_count; i++) {
		if (term->scopes[i].ns_selector != NULL)
			return true;
	}
	return false;
}

static struct term *
term_get(struct terms *terms, const struct pod *pod, const json_t *const *objs,
	 size_t len, const char *topology_key)
{
	char *text = describe(pod, objs, len, topology_key);
	struct map_node *node = map_get(&terms->all, text);
	AUTO(free_ptr) char *key = NULL;
	struct term *term;

	if (node != NULL) {
		free(text);
		term = MAP_ENTRY(node, struct term, node);
		term->refs++;
		return term;
	}
	term = xmalloc0(sizeof(*term));
	term->refs = 1;
	term->text = text;
	term->topology_key = xstrdup(topology_key);
	term->scopes = xcalloc(len, sizeof(struct scope));
	term->scope_count = len;
	for (size_t i = 0; i < len; i++)
		scope_set(&term->scopes[i], pod, objs[i]);
	map_put(&terms->all, &term->node, term->text);
	key = index_key(term, js_at(objs[0], "labelSelector"));
	term->bucket = bucket_get(terms, key);
	term->next = term->bucket->terms;
	if (term->next != NULL)
		term->next->prev = term;
	term->bucket->terms = term;
	if (asks_namespaces(term))
		terms->asking++;
	term_count_all(terms, term);
	return term;
}

static void
term_unref(struct terms *terms, struct term *term)
{
	struct map_node *node;

	if (--term->refs > 0)
		return;
	map_remove(&terms->all, &term->node);
	if (asks_namespaces(term))
		terms->asking--;
	if (term->prev != NULL)
		term->prev->next = term->next;
	else
		term->bucket->terms = term->next;
	if (term->next != NULL)
		term->next->prev = term->prev;
	bucket_release(terms, term->bucket);
	node = map_next(&term->domains, NULL);
	while (node != NULL) {
		struct map_node *next = map_next(&term->domains, node);

		free(MAP_ENTRY(node, struct domain, node));
		node = next;
	}
	map_done(&term->domains);
	scopes_free(term->scopes, term->scope_count);
	free(term->topology_key);
	free(term->text);
	free(term);
}

/* A pod's uses. */

static struct term_use *
add_use(struct pod *pod, enum term_use_kind kind, struct term *term,
	int64_t number)
{
	struct term_use *use;

	pod->uses = xrealloc(pod->uses,
			     (pod->use_count + 1) * sizeof(struct term_use));
	use = &pod->uses[pod->use_count++];
	*use = (struct term_use){ .kind = kind,
				  .term = term,
				  .number = number };
	return use;
}

static const char *
topology_of(const json_t *obj)
{
	return js_str_at(obj, "topologyKey");
}

static size_t
size_up_to(const json_t *list, size_t max)
{
	size_t len = json_array_size(list);

	return len < max ? len : max;
}

/* Required affinity: a pod counts only when it matches all the terms. */
static void
attach_affinity(struct terms *terms, struct pod *pod)
{
	const json_t *list = js_at(pod->affinity, "podAffinity." REQUIRED);
	size_t len = size_up_to(list, TERMS_AFFINITY_MAX);
	const json_t *objs[TERMS_AFFINITY_MAX];

	for (size_t i = 0; i < len; i++)
		objs[i] = json_array_get(list, i);
	for (size_t i = 0; i < len; i++)
		(void)add_use(
			pod, USE_AFFINITY,
			term_get(terms, pod, objs, len, topology_of(objs[i])),
			0);
}

static void
attach_anti(struct terms *terms, struct pod *pod)
{
	const json_t *list = js_at(pod->affinity, "podAntiAffinity." REQUIRED);

	for (size_t i = 0; i < size_up_to(list, TERMS_MAX); i++) {
		const json_t *obj = json_array_get(list, i);

		(void)add_use(pod, USE_ANTI_AFFINITY,
			      term_get(terms, pod, &obj, 1, topology_of(obj)),
			      0);
	}
}

static void
attach_preferred(struct terms *terms, struct pod *pod, const char *path,
		 int sign)
{
	const json_t *list = js_at(pod->affinity, path);

	for (size_t i = 0; i < size_up_to(list, TERMS_MAX); i++) {
		const json_t *each = json_array_get(list, i);
		const json_t *obj = js_at(each, "podAffinityTerm");

		if (obj == NULL)
			continue;
		(void)add_use(pod, USE_PREFERRED,
			      term_get(terms, pod, &obj, 1, topology_of(obj)),
			      sign * js_int_at(each, "weight", 0));
	}
}

static void
attach_spread(struct terms *terms, struct pod *pod)
{
	for (size_t i = 0; i < size_up_to(pod->spread, TERMS_MAX); i++) {
		const json_t *each = json_array_get(pod->spread, i);
		bool soft = strcmp(js_str_at(each, "whenUnsatisfiable"),
				   "ScheduleAnyway") == 0;
		struct term_use *use = add_use(
			pod, soft ? USE_SPREAD_SOFT : USE_SPREAD,
			term_get(terms, pod, &each, 1, topology_of(each)),
			js_int_at(each, "maxSkew", 1));

		use->min_domains = js_int_at(each, "minDomains", 0);
		use->all_nodes = strcmp(js_str_at(each, "nodeAffinityPolicy"),
					"Ignore") == 0;
	}
}

static void
index_pod(struct terms *terms, struct pod *pod)
{
	AUTO(free_ptr) char *all_here = xasprintf("%s/", pod->ns);
	const char *label;
	json_t *value;

	pod->indexed = xcalloc(json_object_size(pod->labels) + 2,
			       sizeof(struct pod_label));
	link_pod(terms, &pod->indexed[pod->indexed_count++], pod, "");
	link_pod(terms, &pod->indexed[pod->indexed_count++], pod, all_here);
	json_object_foreach(pod->labels, label, value)
	{
		AUTO(free_ptr) char *key = NULL;

		if (!json_is_string(value))
			continue;
		key = bucket_key(pod->ns, label, json_string_value(value));
		link_pod(terms, &pod->indexed[pod->indexed_count++], pod, key);
	}
}

void
terms_attach(struct terms *terms, struct pod *pod)
{
	attach_affinity(terms, pod);
	attach_anti(terms, pod);
	attach_preferred(terms, pod, "podAffinity." PREFERRED, 1);
	attach_preferred(terms, pod, "podAntiAffinity." PREFERRED, -1);
	attach_spread(terms, pod);
	index_pod(terms, pod);
}

void
terms_detach(struct terms *terms, struct pod *pod)
{
	for (size_t i = 0; i < pod->indexed_count; i++)
		unlink_pod(terms, &pod->indexed[i]);
	free(pod->indexed);
	pod->indexed = NULL;
	pod->indexed_count = 0;
	for (size_t i = 0; i < pod->use_count; i++)
		term_unref(terms, pod->uses[i].term);
	free(pod->uses);
	pod->uses = NULL;
	pod->use_count = 0;
}

void
terms_each_pod(const struct terms *terms, const char *key,
	       void (*fn)(const struct pod *pod, void *arg), void *arg)
{
	const struct bucket *bucket = bucket_find(terms, key);

	if (bucket == NULL)
		return;
	for (const struct pod_label *at = bucket->pods; at != NULL;
	     at = at->next)
		fn(at->pod, arg);
}

/* Counting. */

static void
count_pod(struct terms *terms, const struct pod *pod, int sign)
{
	struct term **list;
	size_t len = terms_of(terms, pod, &list);

	for (size_t i = 0; i < len; i++)
		domain_count(list[i], pod, &one_match, sign);
	free((void *)list);
	for (size_t i = 0; i < pod->use_count; i++) {
		const struct term_use *use = &pod->uses[i];
		struct domain change = { 0 };

		if (use->kind == USE_ANTI_AFFINITY)
			change.anti = 1;
		else if (use->kind == USE_PREFERRED)
			change.weight = use->number;
		else
			continue;
		domain_count(use->term, pod, &change, sign);
	}
}

void
terms_place(struct terms *terms, struct pod *pod)
{
	count_pod(terms, pod, 1);
}

void
terms_displace(struct terms *terms, struct pod *pod)
{
	count_pod(terms, pod, -1);
}

void
terms_recount(struct terms *terms)
{
	struct map_node *node = NULL;

	if (terms->asking == 0)
		return;
	while ((node = map_next(&terms->all, node)) != NULL) {
		struct term *term = MAP_ENTRY(node, struct term, node);
		struct map_node *at;

		if (!asks_namespaces(term))
			continue;
		/* Those that become empty stay until the term goes. */
		at = map_next(&term->domains, NULL);
		for (; at != NULL; at = map_next(&term->domains, at))
			MAP_ENTRY(at, struct domain, node)->matching = 0;
		term->total = 0;
		term_count_all(terms, term);
	}
}
