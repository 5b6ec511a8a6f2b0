/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_TERMS_H
#define CLUSTER_CONTROL_TERMS_H

/*
 * terms - how many pods of a kind there are in each zone, rack or node.
 *
 * A term is what pod affinity, anti-affinity and spreading ask about: pods by
 * label and namespace, counted by the value of one label of the nodes they are
 * on (a domain). Equal terms of many pods are one. Counts follow the pods as
 * they come and go, so that asking costs a look-up, however many pods there
 * are.
 *
 * To find the terms that concern a pod, and the pods that concern a new term,
 * both are indexed by one "label=value" that the term demands; a term that
 * demands none is tried for every pod.
 *
 * Of required affinity, the first TERMS_AFFINITY_MAX terms of a pod count, of
 * each other list the first TERMS_MAX: more would only serve to make the server
 * work.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "base/map.h"

struct node;
struct pod;
struct selector;
struct term;
struct terms;

#define TERMS_AFFINITY_MAX 8
#define TERMS_MAX 256

/* The pods in one domain. */
struct domain {
	struct map_node node;
	int64_t matching; /* that the term is about */
	int64_t anti;     /* that want to be away from those */
	int64_t weight;   /* the sum of preferences for (or against) those */
	char value[];
};

/* The labels of a namespace, NULL if it has none or is not known. Lent. */
typedef const json_t *terms_namespace_fn(void *arg, const char *ns);

struct terms *terms_new(terms_namespace_fn *labels, void *arg);
/* All pods must have been detached. */
void terms_free(struct terms *terms);

/* Makes pod->uses from what its spec says and puts the pod into the index; and
 * back. */
void terms_attach(struct terms *terms, struct pod *pod);
void terms_detach(struct terms *terms, struct pod *pod);

/* From now on the pod counts where pod->on is, whose labels must not change
 * until it is taken away again. It must be attached. */
void terms_place(struct terms *terms, struct pod *pod);
void terms_displace(struct terms *terms, struct pod *pod);

/* The labels of a namespace have changed: counts again what that concerns. */
void terms_recount(struct terms *terms);

/* The terms that match the pod. Returns how many; the array is to be freed. */
size_t terms_of(const struct terms *terms, const struct pod *pod,
		struct term ***ret_terms);

bool term_matches(const struct terms *terms, const struct term *term,
		  const struct pod *pod);
const char *term_topology_key(const struct term *term);
/* Whether any pod that counts matches. */
bool term_has_any(const struct term *term);
/* The value of the topology key on the node; NULL if the node has none. */
const char *term_value(const struct term *term, const struct node *node);
/* NULL when there is nothing to count in that domain. */
const struct domain *term_domain(const struct term *term, const char *value);

/*
 * The pods that can match a label selector of a namespace ("": of several) are
 * in the index under this key; to be freed. selector is made of label_selector.
 */
char *terms_label_key(const char *ns, const json_t *label_selector,
		      const struct selector *selector);
/* Calls fn for all pods there, also those that do not count. */
void terms_each_pod(const struct terms *terms, const char *key,
		    void (*fn)(const struct pod *pod, void *arg), void *arg);

/* How many different terms there are. */
size_t terms_count(const struct terms *terms);

#endif
