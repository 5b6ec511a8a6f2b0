/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/escalation.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/auth/authz.h"
#include "cluster/auth/cover.h"
#include "cluster/auth/rbac.h"
#include "meta/gofmt.h"
#include "meta/status.h"

/* One write of an RBAC object. */
struct grant {
	struct authz *authz;
	const struct user *user;
	const struct attributes *attr;
	const json_t *object;
	const json_t *old;
	const char *ns;
};

/* The object without what the garbage collector and the server change. */
static json_t *
essence(const json_t *object)
{
	static const char *const gone[] = {
		"finalizers",        "ownerReferences",
		"managedFields",     "resourceVersion",
		"deletionTimestamp", "deletionGracePeriodSeconds",
		"generation"
	};
	json_t *copy = json_copy((json_t *)(uintptr_t)object);
	json_t *meta = json_copy(json_object_get(object, "metadata"));

	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		(void)json_object_del(meta, gone[i]);
	(void)json_object_set_new(copy, "metadata", meta);
	return copy;
}

static bool
only_for_collector(const struct grant *g)
{
	AUTO(js_unref) json_t *now = essence(g->object);
	AUTO(js_unref) json_t *before = g->old ? essence(g->old) : NULL;

	return before && json_equal(now, before);
}

static int
forbid(const struct grant *g, const char *why, struct status *st)
{
	const struct gr gr = { RBAC_GROUP, g->attr->resource };

	return status_forbidden(st, &gr, js_str_at(g->object, "metadata.name"),
				why);
}

/* Whether the user holds these rules himself; else *ret_missing. */
static bool
holds(const struct grant *g, const struct rules *wanted, char **ret_missing,
      char **ret_error)
{
	const struct rules **owned;
	size_t count = rbac_rules(authz_rbac(g->authz), g->user, g->ns, &owned,
				  ret_error);
	bool held = cover_holds(owned, count, wanted, ret_missing);

	free((void *)owned);
	return held;
}

static int
check_rules(const struct grant *g, const struct rules *wanted,
	    struct status *st)
{
	AUTO(free_ptr) char *missing = NULL;
	AUTO(free_ptr) char *error = NULL;
	struct buf why = BUF_INIT(BUF_UNLIMITED);
	int ret;

	if (holds(g, wanted, &missing, &error))
		return 0;
	(void)buf_append_str(&why, "user ");
	gofmt_append_quoted(&why, g->user->name);
	(void)buf_append_str(&why, " (groups=[");
	for (size_t i = 0; i < g->user->n_groups; i++) {
		if (i)
			(void)buf_append_str(&why, " ");
		gofmt_append_quoted(&why, g->user->groups[i]);
	}
	(void)buf_printf(&why,
			 "]) is attempting to grant RBAC permissions not "
			 "currently held:\n%s",
			 missing);
	if (error)
		(void)buf_printf(&why, "; resolution errors: [%s]", error);
	ret = forbid(g, (const char *)why.data, st);
	buf_done(&why);
	return ret;
}

/* Whether the user has a verb that puts these checks aside. */
static bool
has_verb(const struct grant *g, const char *verb, const char *resource,
	 const char *name)
{
	const struct attributes attr = { .is_resource = true,
					 .verb = verb,
					 .group = RBAC_GROUP,
					 .version = "*",
					 .resource = resource,
					 .namespace_ = g->ns,
					 .name = name };

	return authz_check(g->authz, g->user, &attr, NULL) == AUTHZ_ALLOW;
}

/* A role that gathers can come to hold anything, so its author must too. */
static int
check_aggregation(const struct grant *g, struct status *st)
{
	struct words star = { .text = (char *[]){ (char[]){ "*" } },
			      .number = (uint32_t[]){ word_number("*") },
			      .count = 1,
			      .all = true };
	struct rule all[] = {
		{ .verbs = star, .groups = star, .resources = star },
		{ .verbs = star, .urls = star },
	};
	const struct rules wanted = { all, ARRAY_LEN(all) };

	if (!js_obj_at(g->object, "aggregationRule") &&
	    !js_obj_at(g->old, "aggregationRule"))
		return 0;
	if (holds(g, &wanted, NULL, NULL))
		return 0;
	return forbid(g,
		      "must have cluster-admin privileges to use the "
		      "aggregationRule",
		      st);
}

static int
check_role(const struct grant *g, struct status *st)
{
	struct rules wanted;
	int ret;

	/* As for any create, a right by name does not reach a new one. */
	if (has_verb(g, "escalate", g->attr->resource,
		     g->old ? g->attr->name : ""))
		return 0;
	rules_from_json(&wanted, js_arr_at(g->object, "rules"));
	ret = check_rules(g, &wanted, st);
	rules_done(&wanted);
	if (ret == -1)
		return -1;
	return check_aggregation(g, st);
}

static int
check_binding(const struct grant *g, struct status *st)
{
	const char *kind = js_str_at(g->object, "roleRef.kind");
	const char *name = js_str_at(g->object, "roleRef.name");
	bool cluster = strcmp(kind, "ClusterRole") == 0;
	const struct rules *rules;
	const struct gr gr = { RBAC_GROUP, cluster ? "clusterrole" : "role" };

	if (has_verb(g, "bind", cluster ? "clusterroles" : "roles", name))
		return 0;
	rules = rbac_role(authz_rbac(g->authz), kind, g->ns, name);
	if (!rules)
		return status_not_found(st, &gr, name);
	return check_rules(g, rules, st);
}

int
escalation_check(struct authz *authz, const struct user *user,
		 const struct attributes *attr, const json_t *object,
		 const json_t *old, struct status *st)
{
	const struct grant g = { .authz = authz,
				 .user = user,
				 .attr = attr,
				 .object = object,
				 .old = old,
				 .ns = attr->namespace_ ? attr->namespace_
							: "" };

	if (!str_equal(attr->group, RBAC_GROUP) || !object ||
	    user_in_group(user, USER_MASTERS) || only_for_collector(&g))
		return 0;
	if (str_equal(attr->resource, "roles") ||
	    str_equal(attr->resource, "clusterroles"))
		return check_role(&g, st);
	if (str_equal(attr->resource, "rolebindings") ||
	    str_equal(attr->resource, "clusterrolebindings"))
		return check_binding(&g, st);
	return 0;
}
