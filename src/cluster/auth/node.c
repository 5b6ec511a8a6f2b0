/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/auth/attributes.h"
#include "cluster/auth/bootstrap.h"
#include "cluster/auth/nodegraph.h"
#include "cluster/auth/rule.h"

struct node_authz {
	struct nodegraph *graph;
	struct rules rules;
};

/* One question; the answer is allowed, or a reason if there is one. */
struct asked {
	const struct node_authz *nodes;
	const char *node;
	const struct attributes *attr;
	const struct node_selected *selected;
	char *reason;
};

static bool
one_of(const char *verb, const char *const *verbs)
{
	for (; *verbs; verbs++) {
		if (strcmp(verb, *verbs) == 0)
			return true;
	}
	return false;
}

#define VERB_IN(asked, ...) \
	one_of((asked)->attr->verb, (const char *const[]){ __VA_ARGS__, NULL })

static bool
deny(struct asked *a, const char *reason)
{
	a->reason = xstrdup(reason);
	return false;
}

static const char *
text(const char *s)
{
	return s ? s : "";
}

static bool
related(struct asked *a, enum nodegraph_type type)
{
	if (!*a->selected->name)
		return deny(a, "No Object name found");
	if (nodegraph_leads(a->nodes->graph, a->node, type,
			    text(a->attr->namespace_), a->selected->name))
		return true;
	a->reason = xasprintf("no relationship found between node '%s' and "
			      "this object",
			      a->node);
	return false;
}

/* Secrets and ConfigMaps: one at a time, by name. */
static bool
may_read(struct asked *a, enum nodegraph_type type)
{
	if (!VERB_IN(a, "get", "list", "watch"))
		return deny(a, "can only read resources of this type");
	if (*text(a->attr->subresource))
		return deny(a, "cannot read subresource");
	if (!*text(a->attr->namespace_))
		return deny(a, "can only read namespaced object of this type");
	return related(a, type);
}

static bool
may_get(struct asked *a, enum nodegraph_type type)
{
	if (!VERB_IN(a, "get"))
		return deny(a, "can only get individual resources of this "
			       "type");
	if (*text(a->attr->subresource))
		return deny(a, "cannot get subresource");
	return related(a, type);
}

static bool
secrets(struct asked *a)
{
	return may_read(a, NODEGRAPH_SECRET);
}

static bool
configmaps(struct asked *a)
{
	return may_read(a, NODEGRAPH_CONFIG_MAP);
}

static bool
claims(struct asked *a)
{
	if (strcmp(text(a->attr->subresource), "status") != 0)
		return may_get(a, NODEGRAPH_CLAIM);
	if (!VERB_IN(a, "update", "patch"))
		return deny(a, "can only get/update/patch this type");
	return related(a, NODEGRAPH_CLAIM);
}

static bool
volumes(struct asked *a)
{
	return may_get(a, NODEGRAPH_VOLUME);
}

static bool
service_accounts(struct asked *a)
{
	if (!VERB_IN(a, "create") || !*a->selected->name)
		return deny(a, "can only create tokens for individual service "
			       "accounts");
	if (strcmp(text(a->attr->subresource), "token") != 0)
		return deny(a, "can only create token subresource of "
			       "serviceaccount");
	return related(a, NODEGRAPH_SERVICE_ACCOUNT);
}

/* The name of what is created is not known here: noderestriction looks. */
static bool
leases(struct asked *a)
{
	if (!VERB_IN(a, "get", "create", "update", "patch", "delete"))
		return deny(a, "can only get, create, update, patch, or delete "
			       "a node lease");
	if (strcmp(text(a->attr->namespace_), NODE_LEASE_NAMESPACE) != 0)
		return deny(a, "can only access leases in the "
			       "\"" NODE_LEASE_NAMESPACE "\" system namespace");
	if (!VERB_IN(a, "create") && strcmp(a->selected->name, a->node) != 0)
		return deny(a, "can only access node lease with the same name "
			       "as the requesting node");
	return true;
}

static bool
csi_nodes(struct asked *a)
{
	if (!VERB_IN(a, "get", "create", "update", "patch", "delete"))
		return deny(a, "can only get, create, update, patch, or delete "
			       "a CSINode");
	if (*text(a->attr->subresource))
		return deny(a, "cannot authorize CSINode subresources");
	if (!VERB_IN(a, "create") && strcmp(a->selected->name, a->node) != 0)
		return deny(a, "can only access CSINode with the same name as "
			       "the requesting node");
	return true;
}

static bool
nodes(struct asked *a)
{
	const char *sub = text(a->attr->subresource);

	if (strcmp(sub, "status") == 0)
		return VERB_IN(a, "update", "patch");
	if (*sub)
		return false;
	if (VERB_IN(a, "create", "update", "patch"))
		return true;
	if (!VERB_IN(a, "get", "list", "watch"))
		return false;
	/* By name, not by the graph: a node looks before it registers. */
	if (strcmp(a->selected->name, a->node) == 0)
		return true;
	a->reason = *a->selected->name
			    ? xasprintf("node '%s' cannot read '%s', only its "
					"own Node object",
					a->node, a->selected->name)
			    : xasprintf("node '%s' cannot read all nodes, only "
					"its own Node object",
					a->node);
	return false;
}

static bool
pods(struct asked *a)
{
	const char *sub = text(a->attr->subresource);

	if (strcmp(sub, "status") == 0)
		return VERB_IN(a, "update", "patch");
	if (strcmp(sub, "eviction") == 0)
		return VERB_IN(a, "create");
	if (*sub)
		return false;
	if (VERB_IN(a, "create", "delete"))
		return true;
	if (VERB_IN(a, "get"))
		return related(a, NODEGRAPH_POD);
	if (!VERB_IN(a, "list", "watch"))
		return false;
	if (strcmp(a->selected->node, a->node) == 0)
		return true;
	if (*a->selected->name)
		return related(a, NODEGRAPH_POD);
	return deny(a, "can only list/watch pods with spec.nodeName field "
		       "selector");
}

/* Kinds that are not the same for all nodes. */
static const struct {
	const char *group;
	const char *resource;
	bool (*allows)(struct asked *a);
} special[] = {
	{ "", "pods", pods },
	{ "", "nodes", nodes },
	{ "", "secrets", secrets },
	{ "", "configmaps", configmaps },
	{ "", "persistentvolumeclaims", claims },
	{ "", "persistentvolumes", volumes },
	{ "", "serviceaccounts", service_accounts },
	{ "coordination.k8s.io", "leases", leases },
	{ "storage.k8s.io", "csinodes", csi_nodes },
};

static bool
allows(struct asked *a)
{
	const struct attributes *attr = a->attr;
	struct rule_query query;
	bool allowed;

	for (size_t i = 0; attr->is_resource && i < ARRAY_LEN(special); i++) {
		if (str_equal(attr->resource, special[i].resource) &&
		    strcmp(text(attr->group), special[i].group) == 0)
			return special[i].allows(a);
	}
	rule_query_init(&query, attr, a->selected->name);
	allowed = rules_allow(&a->nodes->rules, &query);
	rule_query_done(&query);
	return allowed;
}

bool
node_authz_allows(const struct node_authz *authz, const char *node,
		  const struct attributes *attr,
		  const struct node_selected *selected, char **ret_reason)
{
	struct asked a = { authz, node, attr, selected, NULL };
	bool allowed = allows(&a);

	if (ret_reason)
		*ret_reason = TAKE_PTR(a.reason);
	free(a.reason);
	return allowed;
}

struct node_authz *
node_authz_new(struct store *store)
{
	struct node_authz *authz = xmalloc0(sizeof(*authz));
	AUTO(js_unref)
	json_t *role = bootstrap_find("ClusterRole", "system:node");

	rules_from_json(&authz->rules, json_object_get(role, "rules"));
	authz->graph = nodegraph_new(store);
	return authz;
}

void
node_authz_free(struct node_authz *authz)
{
	if (!authz)
		return;
	nodegraph_free(authz->graph);
	rules_done(&authz->rules);
	free(authz);
}
