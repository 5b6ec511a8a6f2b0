/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_MODEL_H
#define CLUSTER_CONTROL_MODEL_H

/*
 * model - pods, nodes, volumes and claims as the controllers need them: decoded
 * once for each change, and linked to each other by the view (view.h).
 *
 * A pod_new() and the like copy what they keep; a member of type json_t is a
 * reference to a part of the object.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "base/map.h"
#include "cluster/control/amounts.h"
#include "meta/taint.h"

struct node;
struct term;

/* A port of the node that a pod wants for itself. */
struct host_port {
	char *ip; /* "0.0.0.0": all */
	char *protocol;
	int64_t port;
};

enum term_use_kind {
	USE_AFFINITY,      /* required */
	USE_ANTI_AFFINITY, /* required */
	USE_PREFERRED,     /* weight below 0: anti-affinity */
	USE_SPREAD,        /* DoNotSchedule */
	USE_SPREAD_SOFT,   /* ScheduleAnyway */
};

/* A pod's interest in pods that match a term, see terms.h. */
struct term_use {
	enum term_use_kind kind;
	struct term *term;
	int64_t number;      /* the weight, or maxSkew */
	int64_t min_domains; /* of a spread; 0: not said */
	bool all_nodes;      /* of a spread: also nodes the pod may not be on */
};

struct pod_label; /* terms.c: a place in the index of pods by label */

struct pod {
	struct map_node node;
	char *key; /* "namespace/name" */
	char *ns, *name, *uid;
	uint64_t rv;
	char *node_name; /* "": not bound */
	char *scheduler;
	char *controller; /* uid of the controlling owner, or "" */
	json_t *owner;    /* its ownerReference, or NULL */
	json_t *labels;   /* or NULL */
	bool finished;    /* Succeeded or Failed */
	bool deleting;
	bool ready;
	bool gated; /* has scheduling gates */
	bool never_preempts;
	int64_t priority;
	int64_t created_us;
	/* The condition PodScheduled: whether it is False, and with what. */
	bool unschedulable;
	char *why; /* its message, or "" */

	struct amounts requests;
	int64_t nonzero_cpu, nonzero_memory;
	struct toleration *tolerations;
	size_t toleration_count;
	struct host_port *ports;
	size_t port_count;
	char **claims; /* names of PersistentVolumeClaims */
	size_t claim_count;
	size_t ephemeral; /* the last so many of them are of the pod's own */
	json_t *node_selector;  /* or NULL */
	json_t *node_required;  /* NodeSelector, or NULL */
	json_t *node_preferred; /* PreferredSchedulingTerms, or NULL */
	json_t *affinity;       /* spec.affinity, for terms.c; or NULL */
	json_t *spread;         /* spec.topologySpreadConstraints; or NULL */
	struct term_use *uses;
	size_t use_count;

	/* The view's. */
	char *assumed;   /* the node it is being bound to, NULL: none */
	struct node *on; /* the node it counts for, NULL: none */
	struct pod *next_on, *prev_on;
	struct pod_label *indexed;
	size_t indexed_count;
};

struct node {
	struct map_node node;
	char *name, *uid;
	bool known;     /* false: only pods speak of it */
	json_t *labels; /* or NULL */
	bool unschedulable;
	struct taint *taints;
	size_t taint_count;
	struct amounts allocatable;

	/* The view's: the pods that count for it. */
	struct pod *pods;
	size_t pod_count;
	struct amounts used;
	int64_t nonzero_cpu, nonzero_memory;
	size_t place; /* in view->list, when known */
	/* What of the object matters to pods, and whether it was different
	 * before the last change. */
	json_t *shape;
	bool reshaped;
};

enum access_mode {
	ACCESS_RWO = 1,
	ACCESS_ROX = 2,
	ACCESS_RWX = 4,
	ACCESS_RWOP = 8,
};

/* A PersistentVolume. */
struct volume {
	struct map_node node;
	char *name, *uid, *phase, *class_name, *mode; /* mode: "Filesystem" */
	json_t *labels;
	json_t *required; /* NodeSelector of nodeAffinity, or NULL */
	int64_t capacity;
	unsigned modes; /* of enum access_mode */
	bool deleting;
	/* The claim it is for; "" if none. The uid may be "" while it is only
	 * reserved. */
	char *claim_key, *claim_uid;
	char *reclaim;
	bool bound_by_controller;
	/* The view's: others of the class. */
	struct volume *next, *prev;
	struct storage_class *of;
};

/* A PersistentVolumeClaim. */
struct claim {
	struct map_node node;
	char *key; /* "namespace/name" */
	char *ns, *name, *uid, *phase, *class_name, *mode, *volume;
	bool known; /* false: only pods speak of it */
	bool deleting;
	bool bind_completed;
	json_t *selector; /* LabelSelector or NULL */
	char *selected_node;
	int64_t request;
	unsigned modes;
	size_t users; /* the view's: pods that run with it */
};

/* A StorageClass. */
struct storage_class {
	struct map_node node;
	char *name, *provisioner;
	bool known;
	bool waits;             /* for the first consumer */
	bool provisions;        /* somebody makes volumes */
	struct volume *volumes; /* the view's */
};

struct pod *pod_new(const json_t *obj, uint64_t rv);
void pod_free(struct pod *pod);

/* Fills in what the object says; the view's part stays as it is. */
void node_set(struct node *node, const json_t *obj);
/* Back to a node that only pods speak of. */
void node_clear(struct node *node);

struct volume *volume_new(const json_t *obj);
void volume_free(struct volume *volume);

void claim_set(struct claim *claim, const json_t *obj);
void claim_clear(struct claim *claim);

void class_set(struct storage_class *class_name, const json_t *obj);
void class_clear(struct storage_class *sc);

/* Whether two pods cannot have their ports on one node. */
bool host_ports_conflict(const struct host_port *a, const struct host_port *b);

#endif
