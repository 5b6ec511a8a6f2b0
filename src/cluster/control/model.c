/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/quantity.h"
#include "meta/time.h"

#define DEFAULT_SCHEDULER "default-scheduler"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"

static void
replace(char **at, const char *text)
{
	free(*at);
	*at = xstrdup(text);
}

static json_t *
part(const json_t *obj, const char *path)
{
	return json_incref(js_at(obj, path));
}

static void
replace_part(json_t **at, const json_t *obj, const char *path)
{
	json_decref(*at);
	*at = part(obj, path);
}

static char *
key_of(const json_t *obj)
{
	return xasprintf("%s/%s", js_str_at(obj, "metadata.namespace"),
			 js_str_at(obj, "metadata.name"));
}

static bool
is_deleting(const json_t *obj)
{
	return js_at(obj, "metadata.deletionTimestamp") != NULL;
}

static void
pod_set_owner(struct pod *pod, const json_t *obj)
{
	size_t i;
	json_t *each;

	json_array_foreach(js_at(obj, "metadata.ownerReferences"), i, each)
	{
		if (js_bool_at(each, "controller", false)) {
			pod->owner = json_incref(each);
			break;
		}
	}
	pod->controller = xstrdup(js_str_at(pod->owner, "uid"));
}

static void
pod_set_status(struct pod *pod, const json_t *obj)
{
	const json_t *conditions = js_at(obj, "status.conditions");
	const json_t *ready = js_find(conditions, "type", "Ready");
	const json_t *bound = js_find(conditions, "type", "PodScheduled");
	const char *phase = js_str_at(obj, "status.phase");

	pod->finished =
		strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
	pod->ready = strcmp(js_str_at(ready, "status"), "True") == 0;
	pod->unschedulable = strcmp(js_str_at(bound, "status"), "False") == 0;
	pod->why = xstrdup(js_str_at(bound, "message"));
}

static void
pod_add_ports(struct pod *pod, const json_t *container)
{
	size_t i;
	json_t *each;

	json_array_foreach(js_at(container, "ports"), i, each)
	{
		int64_t number = js_int_at(each, "hostPort", 0);
		const char *ip = js_str_at(each, "hostIP");
		const char *protocol = js_str_at(each, "protocol");
		struct host_port *port;

		if (number <= 0)
			continue;
		pod->ports = xrealloc(pod->ports, (pod->port_count + 1) *
							  sizeof(*pod->ports));
		port = &pod->ports[pod->port_count++];
		port->ip = xstrdup(*ip == '\0' ? "0.0.0.0" : ip);
		port->protocol = xstrdup(*protocol == '\0' ? "TCP" : protocol);
		port->port = number;
	}
}

static void
pod_set_claims(struct pod *pod, const json_t *obj)
{
	const json_t *volumes = js_at(obj, "spec.volumes");
	size_t i;
	json_t *each;

	pod->claims = xcalloc(json_array_size(volumes) + 1, sizeof(char *));
	json_array_foreach(volumes, i, each)
	{
		const json_t *claim = js_at(each, "persistentVolumeClaim");

		if (claim != NULL)
			pod->claims[pod->claim_count++] =
				xstrdup(js_str_at(claim, "claimName"));
	}
	json_array_foreach(volumes, i, each)
	{
		if (js_at(each, "ephemeral") == NULL)
			continue;
		pod->claims[pod->claim_count++] =
			xasprintf("%s-%s", pod->name, js_str_at(each, "name"));
		pod->ephemeral++;
	}
}

static void
pod_set_spec(struct pod *pod, const json_t *obj)
{
	const char *scheduler = js_str_at(obj, "spec.schedulerName");
	size_t i;
	json_t *each;

	pod->node_name = xstrdup(js_str_at(obj, "spec.nodeName"));
	pod->scheduler =
		xstrdup(*scheduler == '\0' ? DEFAULT_SCHEDULER : scheduler);
	pod->priority = js_int_at(obj, "spec.priority", 0);
	pod->never_preempts =
		strcmp(js_str_at(obj, "spec.preemptionPolicy"), "Never") == 0;
	pod->gated = json_array_size(js_at(obj, "spec.schedulingGates")) > 0;
	amounts_of_pod(&pod->requests, obj);
	amounts_nonzero_of_pod(obj, &pod->nonzero_cpu, &pod->nonzero_memory);
	pod->tolerations = tolerations_from_json(js_at(obj, "spec.tolerations"),
						 &pod->toleration_count);
	json_array_foreach(js_at(obj, "spec.containers"), i, each)
		pod_add_ports(pod, each);
	pod_set_claims(pod, obj);
	pod->node_selector = part(obj, "spec.nodeSelector");
	pod->affinity = part(obj, "spec.affinity");
	pod->node_required =
		part(pod->affinity,
		     "nodeAffinity."
		     "requiredDuringSchedulingIgnoredDuringExecution");
	pod->node_preferred =
		part(pod->affinity,
		     "nodeAffinity."
		     "preferredDuringSchedulingIgnoredDuringExecution");
	pod->spread = part(obj, "spec.topologySpreadConstraints");
}

struct pod *
pod_new(const json_t *obj, uint64_t rv)
{
	struct pod *pod = xmalloc0(sizeof(*pod));
	struct err err;

	pod->rv = rv;
	pod->key = key_of(obj);
	pod->ns = xstrdup(js_str_at(obj, "metadata.namespace"));
	pod->name = xstrdup(js_str_at(obj, "metadata.name"));
	pod->uid = xstrdup(js_str_at(obj, "metadata.uid"));
	pod->labels = part(obj, "metadata.labels");
	pod->deleting = is_deleting(obj);
	if (time_parse(js_str_at(obj, "metadata.creationTimestamp"),
		       &pod->created_us, &err) == -1)
		pod->created_us = 0;
	pod_set_owner(pod, obj);
	pod_set_spec(pod, obj);
	pod_set_status(pod, obj);
	return pod;
}

void
pod_free(struct pod *pod)
{
	json_t *parts[] = { pod->owner,         pod->labels,
			    pod->node_selector, pod->spread,
			    pod->node_required, pod->node_preferred,
			    pod->affinity };
	char *texts[] = { pod->key,        pod->ns,        pod->name,
			  pod->uid,        pod->node_name, pod->scheduler,
			  pod->controller, pod->why,       pod->assumed };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		json_decref(parts[i]);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < pod->port_count; i++) {
		free(pod->ports[i].ip);
		free(pod->ports[i].protocol);
	}
	for (size_t i = 0; i < pod->claim_count; i++)
		free(pod->claims[i]);
	amounts_done(&pod->requests);
	tolerations_free(pod->tolerations, pod->toleration_count);
	free(pod->ports);
	free(pod->claims);
	free(pod->uses);
	free(pod);
}

void
node_clear(struct node *node)
{
	node->known = false;
	replace(&node->uid, "");
	json_decref(node->labels);
	node->labels = NULL;
	node->unschedulable = false;
	taints_free(node->taints, node->taint_count);
	node->taints = NULL;
	node->taint_count = 0;
	amounts_done(&node->allocatable);
	json_decref(node->shape);
	node->shape = NULL;
}

/* References to what of a node matters to pods. */
static json_t *
shape_of(const json_t *obj)
{
	return json_pack("[O?O?O?O?]", js_at(obj, "metadata.labels"),
			 js_at(obj, "spec.taints"),
			 js_at(obj, "spec.unschedulable"),
			 js_at(obj, "status.allocatable"));
}

void
node_set(struct node *node, const json_t *obj)
{
	const json_t *allocatable = js_at(obj, "status.allocatable");
	json_t *shape = shape_of(obj);

	node->reshaped = !json_equal(node->shape, shape);
	node_clear(node);
	node->shape = shape;
	node->known = true;
	replace(&node->uid, js_str_at(obj, "metadata.uid"));
	node->labels = part(obj, "metadata.labels");
	node->unschedulable = js_bool_at(obj, "spec.unschedulable", false);
	node->taints =
		taints_from_json(js_at(obj, "spec.taints"), &node->taint_count);
	/* A node that only says how much it has gives all of it. */
	if (allocatable == NULL)
		allocatable = js_at(obj, "status.capacity");
	amounts_add_json(&node->allocatable, allocatable);
}

static unsigned
modes_of(const json_t *array)
{
	static const struct {
		const char *name;
		unsigned mode;
	} names[] = {
		{ "ReadWriteOnce", ACCESS_RWO },
		{ "ReadOnlyMany", ACCESS_ROX },
		{ "ReadWriteMany", ACCESS_RWX },
		{ "ReadWriteOncePod", ACCESS_RWOP },
	};
	unsigned modes = 0;
	size_t i;
	json_t *each;

	json_array_foreach(array, i, each)
	{
		for (size_t n = 0; n < ARRAY_LEN(names); n++) {
			if (str_equal(json_string_value(each), names[n].name))
				modes |= names[n].mode;
		}
	}
	return modes;
}

static int64_t
bytes_of(const json_t *obj, const char *path)
{
	struct quantity q;
	struct err err;

	if (quantity_parse(js_str_at(obj, path), &q, &err) == -1)
		return 0;
	return quantity_value(&q);
}

static const char *
volume_mode(const json_t *obj)
{
	const char *mode = js_str_at(obj, "spec.volumeMode");

	return *mode == '\0' ? "Filesystem" : mode;
}

struct volume *
volume_new(const json_t *obj)
{
	struct volume *v = xmalloc0(sizeof(*v));
	const json_t *annotations = js_at(obj, "metadata.annotations");
	const json_t *claim = js_at(obj, "spec.claimRef");

	v->name = xstrdup(js_str_at(obj, "metadata.name"));
	v->uid = xstrdup(js_str_at(obj, "metadata.uid"));
	v->phase = xstrdup(js_str_at(obj, "status.phase"));
	v->class_name = xstrdup(js_str_at(obj, "spec.storageClassName"));
	v->mode = xstrdup(volume_mode(obj));
	v->labels = part(obj, "metadata.labels");
	v->required = part(obj, "spec.nodeAffinity.required");
	v->capacity = bytes_of(obj, "spec.capacity.storage");
	v->modes = modes_of(js_at(obj, "spec.accessModes"));
	v->deleting = is_deleting(obj);
	v->claim_key = claim == NULL ? xstrdup("")
				     : xasprintf("%s/%s",
						 js_str_at(claim, "namespace"),
						 js_str_at(claim, "name"));
	v->claim_uid = xstrdup(js_str_at(claim, "uid"));
	v->reclaim =
		xstrdup(js_str_at(obj, "spec.persistentVolumeReclaimPolicy"));
	v->bound_by_controller =
		json_object_get(annotations,
				"pv.kubernetes.io/bound-by-controller") != NULL;
	return v;
}

void
volume_free(struct volume *v)
{
	char *texts[] = { v->name, v->uid,       v->phase,     v->class_name,
			  v->mode, v->claim_key, v->claim_uid, v->reclaim };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	json_decref(v->labels);
	json_decref(v->required);
	free(v);
}

void
claim_set(struct claim *c, const json_t *obj)
{
	const json_t *annotations = js_at(obj, "metadata.annotations");
	const json_t *node = json_object_get(
		annotations, "volume.kubernetes.io/selected-node");

	c->known = true;
	replace(&c->uid, js_str_at(obj, "metadata.uid"));
	replace(&c->phase, js_str_at(obj, "status.phase"));
	replace(&c->class_name, js_str_at(obj, "spec.storageClassName"));
	replace(&c->mode, volume_mode(obj));
	replace(&c->volume, js_str_at(obj, "spec.volumeName"));
	replace(&c->selected_node,
		json_is_string(node) ? json_string_value(node) : "");
	replace_part(&c->selector, obj, "spec.selector");
	c->request = bytes_of(obj, "spec.resources.requests.storage");
	c->modes = modes_of(js_at(obj, "spec.accessModes"));
	c->deleting = is_deleting(obj);
	c->bind_completed =
		json_object_get(annotations,
				"pv.kubernetes.io/bind-completed") != NULL;
}

void
claim_clear(struct claim *c)
{
	char **texts[] = { &c->uid,  &c->phase,  &c->class_name,
			   &c->mode, &c->volume, &c->selected_node };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
	json_decref(c->selector);
	c->selector = NULL;
	c->known = false;
}

void
class_set(struct storage_class *c, const json_t *obj)
{
	c->known = true;
	replace(&c->provisioner, js_str_at(obj, "provisioner"));
	c->waits = strcmp(js_str_at(obj, "volumeBindingMode"),
			  "WaitForFirstConsumer") == 0;
	c->provisions = strcmp(c->provisioner, NO_PROVISIONER) != 0;
}

void
class_clear(struct storage_class *c)
{
	free(c->provisioner);
	c->provisioner = NULL;
	c->known = false;
	c->waits = false;
	c->provisions = false;
}

bool
host_ports_conflict(const struct host_port *a, const struct host_port *b)
{
	return a->port == b->port && strcmp(a->protocol, b->protocol) == 0 &&
	       (strcmp(a->ip, b->ip) == 0 || strcmp(a->ip, "0.0.0.0") == 0 ||
		strcmp(b->ip, "0.0.0.0") == 0);
}
