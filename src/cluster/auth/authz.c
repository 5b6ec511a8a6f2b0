/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/authz.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/auth/node.h"
#include "cluster/auth/rbac.h"
#include "meta/selector.h"
#include "meta/status.h"

struct authz {
	struct store *store;
	struct node_authz *nodes;
	struct rbac *rbac;
};

struct authz *
authz_new(struct store *store)
{
	struct authz *authz = xmalloc0(sizeof(*authz));

	authz->store = store;
	authz->nodes = node_authz_new(store);
	authz->rbac = rbac_new(store);
	return authz;
}

void
authz_free(struct authz *authz)
{
	if (!authz)
		return;
	node_authz_free(authz->nodes);
	rbac_free(authz->rbac);
	free(authz);
}

struct rbac *
authz_rbac(struct authz *authz)
{
	return authz->rbac;
}

struct store *
authz_store(struct authz *authz)
{
	return authz->store;
}

static const char *
text(const char *s)
{
	return s ? s : "";
}

/* A selector that cannot be parsed demands nothing; the list refuses it. */
static struct fieldsel *
selector_of(const struct attributes *attr)
{
	struct fieldsel *sel = NULL;

	if (attr->is_resource && *text(attr->field_selector)) {
		struct status st = STATUS_INIT;

		sel = fieldsel_parse(attr->field_selector, &st);
		status_done(&st);
	}
	return sel;
}

/* What nodes and roles said, one per line, as Kubernetes joins them. */
static char *
join(char *node_reason, char *rbac_reason)
{
	char *both;

	if (!node_reason || !rbac_reason)
		return node_reason ? node_reason : rbac_reason;
	both = xasprintf("%s\n%s", node_reason, rbac_reason);
	free(node_reason);
	free(rbac_reason);
	return both;
}

static enum authz_decision
check_node(struct authz *authz, const struct user *user,
	   const struct attributes *attr, const struct node_selected *selected,
	   char **ret_reason)
{
	const char *node;

	if (!user_is_node(user, &node))
		return AUTHZ_NO_OPINION;
	if (!*node) {
		if (ret_reason)
			*ret_reason = xasprintf("unknown node for user \"%s\"",
						user->name);
		return AUTHZ_NO_OPINION;
	}
	return node_authz_allows(authz->nodes, node, attr, selected, ret_reason)
		       ? AUTHZ_ALLOW
		       : AUTHZ_NO_OPINION;
}

enum authz_decision
authz_check(struct authz *authz, const struct user *user,
	    const struct attributes *attr, char **ret_reason)
{
	AUTO(fieldsel_unref) struct fieldsel *sel = NULL;
	struct node_selected selected = { .name = text(attr->name),
					  .node = "" };
	char *node_reason = NULL;
	char *rbac_reason = NULL;

	if (ret_reason)
		*ret_reason = NULL;
	if (user_in_group(user, USER_MASTERS))
		return AUTHZ_ALLOW;

	sel = selector_of(attr);
	if (sel) {
		selected.node =
			text(fieldsel_exact_value(sel, "spec.nodeName"));
		if (!*selected.name && (strcmp(attr->verb, "list") == 0 ||
					strcmp(attr->verb, "watch") == 0))
			selected.name = text(
				fieldsel_exact_value(sel, "metadata.name"));
	}
	if (check_node(authz, user, attr, &selected,
		       ret_reason ? &node_reason : NULL) == AUTHZ_ALLOW)
		return AUTHZ_ALLOW;
	if (rbac_allows(authz->rbac, user, attr, selected.name,
			ret_reason ? &rbac_reason : NULL)) {
		free(node_reason);
		if (ret_reason)
			*ret_reason = rbac_reason;
		return AUTHZ_ALLOW;
	}
	if (ret_reason)
		*ret_reason = join(node_reason, rbac_reason);
	return AUTHZ_NO_OPINION;
}

int
authz_require(struct authz *authz, const struct user *user,
	      const struct attributes *attr, struct status *st)
{
	AUTO(free_ptr) char *reason = NULL;

	/* The reason is work; nobody sees that of what is allowed. */
	if (authz_check(authz, user, attr, NULL) == AUTHZ_ALLOW)
		return 0;
	(void)authz_check(authz, user, attr, &reason);
	return attributes_forbid(attr, user, reason, st);
}

static void
append_rules(const struct rules *rules, json_t *resources, json_t *urls)
{
	for (size_t i = 0; i < rules->count; i++) {
		json_t *rule = rule_json(&rules->list[i]);

		if (json_object_get(rule, "nonResourceURLs") &&
		    !json_object_get(rule, "resources"))
			(void)json_array_append_new(urls, rule);
		else
			(void)json_array_append_new(resources, rule);
	}
}

json_t *
authz_rules_json(struct authz *authz, const struct user *user, const char *ns)
{
	json_t *status = json_object();
	json_t *resources = json_array();
	json_t *urls = json_array();
	AUTO(free_ptr) char *error = NULL;
	const struct rules **list;
	const char *node;
	size_t count = rbac_rules(authz->rbac, user, ns, &list, &error);

	for (size_t i = 0; i < count; i++)
		append_rules(list[i], resources, urls);
	free((void *)list);
	(void)json_object_set_new(status, "resourceRules", resources);
	(void)json_object_set_new(status, "nonResourceRules", urls);
	if (user_is_node(user, &node)) {
		free(error);
		error = xstrdup("node authorizer does not support user rule "
				"resolution");
	}
	(void)json_object_set_new(status, "incomplete",
				  json_boolean(error != NULL));
	if (error)
		(void)json_object_set_new(status, "evaluationError",
					  json_string(error));
	return status;
}
