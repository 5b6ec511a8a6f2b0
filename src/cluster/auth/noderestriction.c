/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/noderestriction.h"

#include <stdarg.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/auth/authz.h"
#include "cluster/auth/nodelabels.h"
#include "cluster/auth/node.h"
#include "cluster/auth/podrefs.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/status.h"

enum operation {
	OP_CREATE,
	OP_UPDATE,
	OP_DELETE,
	OP_OTHER,
};

static const char *const op_names[] = {
	[OP_CREATE] = "CREATE",
	[OP_UPDATE] = "UPDATE",
	[OP_DELETE] = "DELETE",
	[OP_OTHER] = "CONNECT",
};

/* One write by a node. */
struct admit {
	struct authz *authz;
	const char *node;
	const struct attributes *attr;
	enum operation op;
	const char *ns;
	const char *name; /* what is written; "" when only object knows */
	const char *sub;
	const json_t *object;
	const json_t *old;
	struct status *st;
};

static enum operation
operation_of(const char *verb)
{
	if (strcmp(verb, "create") == 0)
		return OP_CREATE;
	if (strcmp(verb, "update") == 0 || strcmp(verb, "patch") == 0)
		return OP_UPDATE;
	if (str_has_prefix(verb, "delete"))
		return OP_DELETE;
	return OP_OTHER;
}

static int deny(const struct admit *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int
deny(const struct admit *a, const char *fmt, ...)
{
	const struct gr gr = { a->attr->group, a->attr->resource };
	AUTO(free_ptr) char *why = NULL;
	const char *name = a->name;
	va_list args;

	va_start(args, fmt);
	why = xvasprintf(fmt, args);
	va_end(args);
	if (!*name)
		name = js_str_at(a->object, "metadata.name");
	return status_forbidden(a->st, &gr, name, why);
}

/* The stored pod, decoded; NULL with a 404. */
static json_t *
get_pod(const struct admit *a, const char *name)
{
	const struct gr gr = { "", "pods" };
	struct collection *pods =
		store_collection(authz_store(a->authz), "", "pods");
	const struct object *pod = store_get(pods, a->ns, name);

	if (pod)
		return object_json(pod);
	(void)status_not_found(a->st, &gr, name);
	return NULL;
}

static bool
is_here(const struct admit *a, const json_t *pod)
{
	return strcmp(js_str_at(pod, "spec.nodeName"), a->node) == 0;
}

/* A mirror pod belongs to the Node object and to nothing else. */
static int
check_owner(const struct admit *a)
{
	const struct gr gr = { "", "nodes" };
	const json_t *owners = js_arr_at(a->object, "metadata.ownerReferences");
	const json_t *owner = json_array_get(owners, 0);
	const struct object *node;

	if (json_array_size(owners) > 1)
		return deny(a,
			    "node \"%s\" can only create pods with a single "
			    "owner reference set to itself",
			    a->node);
	if (strcmp(js_str_at(owner, "apiVersion"), "v1") != 0 ||
	    strcmp(js_str_at(owner, "kind"), "Node") != 0 ||
	    strcmp(js_str_at(owner, "name"), a->node) != 0)
		return deny(a,
			    "node \"%s\" can only create pods with an owner "
			    "reference set to itself",
			    a->node);
	if (!js_bool_at(owner, "controller", false))
		return deny(a,
			    "node \"%s\" can only create pods with a "
			    "controller owner reference set to itself",
			    a->node);
	if (js_bool_at(owner, "blockOwnerDeletion", false))
		return deny(a,
			    "node \"%s\" must not set blockOwnerDeletion on "
			    "an owner reference",
			    a->node);
	node = store_get(store_collection(authz_store(a->authz), "", "nodes"),
			 "", a->node);
	if (!node)
		return status_not_found(a->st, &gr, a->node);
	if (strcmp(js_str_at(owner, "uid"), node->uid) != 0)
		return deny(a, "node %s UID mismatch: expected %s got %s",
			    a->node, js_str_at(owner, "uid"), node->uid);
	return 0;
}

static void
note_ref(enum podref type, const char *name, void *arg)
{
	(void)name;
	((bool *)arg)[type] = true;
}

static int
create_pod(const struct admit *a)
{
	static const struct {
		enum podref type;
		const char *what;
	} refused[] = {
		{ PODREF_SERVICE_ACCOUNT, "a service account" },
		{ PODREF_SECRET, "secrets" },
		{ PODREF_CONFIG_MAP, "configmaps" },
		{ PODREF_CLAIM, "persistentvolumeclaims" },
	};
	bool refers[PODREF_COUNT] = { false };

	if (!json_object_get(js_obj_at(a->object, "metadata.annotations"),
			     PODREFS_MIRROR)) {
		return deny(a,
			    "pod does not have \"" PODREFS_MIRROR
			    "\" annotation, node \"%s\" can only create "
			    "mirror pods",
			    a->node);
	}
	if (!is_here(a, a->object))
		return deny(a,
			    "node \"%s\" can only create pods with "
			    "spec.nodeName set to itself",
			    a->node);
	if (check_owner(a) == -1)
		return -1;
	podrefs_each(a->object, note_ref, refers);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (refers[refused[i].type])
			return deny(a,
				    "node \"%s\" can not create pods that "
				    "reference %s",
				    a->node, refused[i].what);
	}
	return 0;
}

static int
admit_own_pod(const struct admit *a)
{
	AUTO(js_unref) json_t *pod = NULL;

	if (a->op == OP_CREATE)
		return create_pod(a);
	if (a->op != OP_DELETE)
		return deny(a,
			    "unexpected operation \"%s\", node \"%s\" can only "
			    "create and delete mirror pods",
			    op_names[a->op], a->node);
	pod = get_pod(a, a->name);
	if (!pod)
		return -1;
	if (!is_here(a, pod))
		return deny(a,
			    "node \"%s\" can only delete pods with "
			    "spec.nodeName set to itself",
			    a->node);
	return 0;
}

/* NULL and {} are the same labels. */
static bool
same_labels(const json_t *one, const json_t *other)
{
	const json_t *a = js_obj_at(one, "metadata.labels");
	const json_t *b = js_obj_at(other, "metadata.labels");

	if (!json_object_size(a) && !json_object_size(b))
		return true;
	return json_equal(a, b);
}

static int
admit_pod_status(const struct admit *a)
{
	if (a->op != OP_UPDATE)
		return deny(a, "unexpected operation \"%s\"", op_names[a->op]);
	if (!is_here(a, a->old))
		return deny(a,
			    "node \"%s\" can only update pod status for pods "
			    "with spec.nodeName set to itself",
			    a->node);
	if (!same_labels(a->old, a->object))
		return deny(a,
			    "node \"%s\" cannot update labels through pod "
			    "status",
			    a->node);
	return 0;
}

static int
admit_eviction(const struct admit *a)
{
	const char *name =
		*a->name ? a->name : js_str_at(a->object, "metadata.name");
	AUTO(js_unref) json_t *pod = NULL;

	if (a->op != OP_CREATE)
		return deny(a, "unexpected operation %s", op_names[a->op]);
	if (!*name)
		return deny(a, "could not determine pod from request data");
	pod = get_pod(a, name);
	if (!pod)
		return -1;
	if (!is_here(a, pod))
		return deny(a,
			    "node %s can only evict pods with spec.nodeName "
			    "set to itself",
			    a->node);
	return 0;
}

static int
admit_pod(const struct admit *a)
{
	if (!*a->sub)
		return admit_own_pod(a);
	if (strcmp(a->sub, "status") == 0)
		return admit_pod_status(a);
	if (strcmp(a->sub, "eviction") == 0)
		return admit_eviction(a);
	return deny(a,
		    "unexpected pod subresource \"%s\", only 'status' and "
		    "'eviction' are allowed",
		    a->sub);
}

static int
update_node(const struct admit *a)
{
	const json_t *taints = js_arr_at(a->object, "spec.taints");
	const json_t *before = js_arr_at(a->old, "spec.taints");
	const json_t *source = js_obj_at(a->object, "spec.configSource");
	AUTO(free_ptr) char *labels = NULL;

	if (source &&
	    !json_equal(source, js_obj_at(a->old, "spec.configSource")))
		return deny(a,
			    "node \"%s\" is not allowed to update "
			    "configSource to a new non-nil configSource",
			    a->node);
	if ((json_array_size(taints) || json_array_size(before)) &&
	    !json_equal(taints, before))
		return deny(a, "node \"%s\" is not allowed to modify taints",
			    a->node);
	labels = nodelabels_forbidden(js_obj_at(a->object, "metadata.labels"),
				      js_obj_at(a->old, "metadata.labels"));
	if (labels)
		return deny(a, "is not allowed to modify labels: %s", labels);
	return 0;
}

static int
admit_node(const struct admit *a)
{
	const char *name =
		*a->name ? a->name : js_str_at(a->object, "metadata.name");
	AUTO(free_ptr) char *labels = NULL;

	if (strcmp(name, a->node) != 0)
		return deny(a,
			    "node \"%s\" is not allowed to modify node \"%s\"",
			    a->node, name);
	if (a->op == OP_UPDATE)
		return update_node(a);
	if (a->op != OP_CREATE)
		return 0;
	if (js_obj_at(a->object, "spec.configSource"))
		return deny(a,
			    "node \"%s\" is not allowed to create pods with a "
			    "non-nil configSource",
			    a->node);
	labels = nodelabels_forbidden(js_obj_at(a->object, "metadata.labels"),
				      NULL);
	if (labels)
		return deny(a,
			    "node \"%s\" is not allowed to set the following "
			    "labels: %s",
			    a->node, labels);
	return 0;
}

/* A claim without what a node may say about it. */
static json_t *
claim_rest(const json_t *claim)
{
	static const char *const own[] = { "capacity", "conditions",
					   "allocatedResources",
					   "allocatedResourceStatuses" };
	json_t *copy = json_copy((json_t *)(uintptr_t)claim);
	json_t *status = json_copy(json_object_get(claim, "status"));
	json_t *meta = json_copy(json_object_get(claim, "metadata"));

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		(void)json_object_del(status, own[i]);
	(void)json_object_del(meta, "resourceVersion");
	(void)json_object_del(meta, "managedFields");
	(void)json_object_del(copy, "status");
	if (json_object_size(status))
		(void)json_object_set(copy, "status", status);
	json_decref(status);
	(void)json_object_set_new(copy, "metadata", meta);
	return copy;
}

static int
admit_claim(const struct admit *a)
{
	AUTO(js_unref) json_t *now = NULL;
	AUTO(js_unref) json_t *before = NULL;

	if (strcmp(a->sub, "status") != 0)
		return deny(a, "may only update PVC status");
	if (a->op != OP_UPDATE)
		return deny(a, "unexpected operation \"%s\"", op_names[a->op]);
	now = claim_rest(a->object);
	before = claim_rest(a->old);
	if (!json_equal(now, before))
		return deny(a,
			    "node \"%s\" is not allowed to update fields other "
			    "than status.capacity and status.conditions",
			    a->node);
	return 0;
}

static int
admit_token(const struct admit *a)
{
	const json_t *ref = js_obj_at(a->object, "spec.boundObjectRef");
	const char *uid = js_str_at(ref, "uid");
	AUTO(js_unref) json_t *pod = NULL;

	if (a->op != OP_CREATE || strcmp(a->sub, "token") != 0)
		return 0;
	if (strcmp(js_str_at(ref, "apiVersion"), "v1") != 0 ||
	    strcmp(js_str_at(ref, "kind"), "Pod") != 0 ||
	    !*js_str_at(ref, "name"))
		return deny(a, "node requested token not bound to a pod");
	if (!*uid)
		return deny(a, "node requested token with a pod binding "
			       "without a uid");
	pod = get_pod(a, js_str_at(ref, "name"));
	if (!pod)
		return -1;
	if (strcmp(js_str_at(pod, "metadata.uid"), uid) != 0) {
		return deny(a,
			    "the UID in the bound object reference (%s) does "
			    "not match the UID in record. The object might "
			    "have been deleted and then recreated",
			    uid);
	}
	if (!is_here(a, pod))
		return deny(a, "node requested token bound to a pod scheduled "
			       "on a different node");
	return 0;
}

static int
admit_lease(const struct admit *a)
{
	const char *name = a->op == OP_CREATE
				   ? js_str_at(a->object, "metadata.name")
				   : a->name;

	if (strcmp(a->ns, NODE_LEASE_NAMESPACE) != 0)
		return deny(a, "can only access leases in the "
			       "\"" NODE_LEASE_NAMESPACE "\" system namespace");
	if (strcmp(name, a->node) != 0)
		return deny(a, "can only access node lease with the same name "
			       "as the requesting node");
	return 0;
}

static int
admit_csi_node(const struct admit *a)
{
	const char *name = a->op == OP_CREATE
				   ? js_str_at(a->object, "metadata.name")
				   : a->name;

	if (strcmp(name, a->node) != 0)
		return deny(a, "can only access CSINode with the same name as "
			       "the requesting node");
	return 0;
}

static const struct {
	const char *group;
	const char *resource;
	int (*admit)(const struct admit *a);
} restricted[] = {
	{ "", "pods", admit_pod },
	{ "", "nodes", admit_node },
	{ "", "persistentvolumeclaims", admit_claim },
	{ "", "serviceaccounts", admit_token },
	{ "coordination.k8s.io", "leases", admit_lease },
	{ "storage.k8s.io", "csinodes", admit_csi_node },
};

int
noderestriction_admit(struct authz *authz, const struct user *user,
		      const struct attributes *attr, const json_t *object,
		      const json_t *old, struct status *st)
{
	struct admit a = { .authz = authz,
			   .attr = attr,
			   .op = operation_of(attr->verb),
			   .ns = attr->namespace_ ? attr->namespace_ : "",
			   .name = attr->name ? attr->name : "",
			   .sub = attr->subresource ? attr->subresource : "",
			   .object = object,
			   .old = old,
			   .st = st };

	if (!user_is_node(user, &a.node))
		return 0;
	if (!*a.node)
		return deny(&a, "could not determine node from user \"%s\"",
			    user->name);
	for (size_t i = 0; i < ARRAY_LEN(restricted); i++) {
		if (str_equal(attr->resource, restricted[i].resource) &&
		    strcmp(attr->group ? attr->group : "",
			   restricted[i].group) == 0)
			return restricted[i].admit(&a);
	}
	return 0;
}
