/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/rbac.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/auth/attributes.h"
#include "cluster/auth/user.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

/* Sentences about missing roles end there. */
#define ERRORS_MAX_BYTES 4096

/* A role, or the place of one that bindings name and that is not there. */
struct role {
	struct map_node node;
	char *key; /* "ns/name"; "/name" for a ClusterRole */
	bool present;
	unsigned bindings; /* that point here */
	struct rules rules;
};

/* The bindings of one user or group within one scope. */
struct bucket {
	struct map_node node;
	char *name;
	struct subject *first;
	struct subject *last;
};

struct subject {
	struct binding *binding;
	struct subject *prev;
	struct subject *next;
	struct map *map; /* where the bucket is */
	struct bucket *bucket;
	char *told; /* "Group "system:masters"": for the reason */
};

struct binding {
	struct map_node node;
	char *key; /* as a role's */
	struct scope *scope;
	struct role *role; /* NULL: a kind of role there is not */
	char *role_kind;
	char *role_name;
	uint64_t visit; /* the visit that has seen it */
	size_t count;
	struct subject subjects[];
};

/* A namespace that has bindings; the cluster has one too. */
struct scope {
	struct map_node node;
	char *ns;
	unsigned bindings;
	struct map users;
	struct map groups;
};

struct rbac {
	struct map roles;
	struct map bindings;
	struct map scopes;
	struct scope cluster;
	uint64_t visit;
	struct subscription *following[4];
};

static void
bucket_remove(struct subject *subject)
{
	struct bucket *bucket = subject->bucket;

	if (subject->prev)
		subject->prev->next = subject->next;
	else
		bucket->first = subject->next;
	if (subject->next)
		subject->next->prev = subject->prev;
	else
		bucket->last = subject->prev;
	if (bucket->first)
		return;
	map_remove(subject->map, &bucket->node);
	free(bucket->name);
	free(bucket);
}

static void
bucket_add(struct map *map, const char *name, struct subject *subject)
{
	struct map_node *node = map_get(map, name);
	struct bucket *bucket;

	if (node) {
		bucket = MAP_ENTRY(node, struct bucket, node);
	} else {
		bucket = xmalloc0(sizeof(*bucket));
		bucket->name = xstrdup(name);
		map_put(map, &bucket->node, bucket->name);
	}
	subject->map = map;
	subject->bucket = bucket;
	subject->prev = bucket->last;
	if (bucket->last)
		bucket->last->next = subject;
	else
		bucket->first = subject;
	bucket->last = subject;
}

static struct role *
role_find(struct rbac *rbac, const char *key)
{
	struct map_node *node = map_get(&rbac->roles, key);

	return node ? MAP_ENTRY(node, struct role, node) : NULL;
}

static struct role *
role_get(struct rbac *rbac, const char *key)
{
	struct role *role = role_find(rbac, key);

	if (role)
		return role;
	role = xmalloc0(sizeof(*role));
	role->key = xstrdup(key);
	map_put(&rbac->roles, &role->node, role->key);
	return role;
}

static void
role_put(struct rbac *rbac, struct role *role)
{
	if (role->present || role->bindings)
		return;
	map_remove(&rbac->roles, &role->node);
	rules_done(&role->rules);
	free(role->key);
	free(role);
}

static char *
key_of(const char *ns, const char *name)
{
	return xasprintf("%s/%s", ns, name);
}

static void
on_role(const struct event *event, void *arg)
{
	struct rbac *rbac = arg;
	const struct object *object = event->object;
	AUTO(free_ptr) char *key = key_of(object->namespace_, object->name);
	struct role *role = role_get(rbac, key);
	AUTO(js_unref) json_t *json = NULL;

	rules_done(&role->rules);
	role->present = event->type != EVENT_DELETED;
	if (role->present) {
		json = object_json(object);
		rules_from_json(&role->rules, json_object_get(json, "rules"));
	}
	role_put(rbac, role);
}

static struct scope *
scope_find(struct rbac *rbac, const char *ns)
{
	struct map_node *node;

	if (!*ns)
		return &rbac->cluster;
	node = map_get(&rbac->scopes, ns);
	return node ? MAP_ENTRY(node, struct scope, node) : NULL;
}

static struct scope *
scope_get(struct rbac *rbac, const char *ns)
{
	struct scope *scope = scope_find(rbac, ns);

	if (scope)
		return scope;
	scope = xmalloc0(sizeof(*scope));
	scope->ns = xstrdup(ns);
	map_put(&rbac->scopes, &scope->node, scope->ns);
	return scope;
}

static void
scope_put(struct rbac *rbac, struct scope *scope)
{
	if (scope == &rbac->cluster || scope->bindings)
		return;
	map_remove(&rbac->scopes, &scope->node);
	map_done(&scope->users);
	map_done(&scope->groups);
	free(scope->ns);
	free(scope);
}

static void
binding_drop(struct rbac *rbac, const char *key)
{
	struct map_node *node = map_get(&rbac->bindings, key);
	struct binding *binding;

	if (!node)
		return;
	binding = MAP_ENTRY(node, struct binding, node);
	map_remove(&rbac->bindings, &binding->node);
	for (size_t i = 0; i < binding->count; i++) {
		bucket_remove(&binding->subjects[i]);
		free(binding->subjects[i].told);
	}
	binding->scope->bindings--;
	scope_put(rbac, binding->scope);
	if (binding->role) {
		binding->role->bindings--;
		role_put(rbac, binding->role);
	}
	free(binding->role_kind);
	free(binding->role_name);
	free(binding->key);
	free(binding);
}

/* Subjects that can match nobody are left out. */
static void
subject_add(struct binding *binding, const char *ns, const json_t *json)
{
	const char *kind = json_string_value(json_object_get(json, "kind"));
	const char *name = json_string_value(json_object_get(json, "name"));
	const char *sa_ns =
		json_string_value(json_object_get(json, "namespace"));
	struct subject *subject = &binding->subjects[binding->count];
	AUTO(free_ptr) char *user = NULL;

	if (!kind || !name)
		return;
	if (!sa_ns || !*sa_ns)
		sa_ns = ns;
	if (strcmp(kind, "User") == 0) {
		bucket_add(&binding->scope->users, name, subject);
	} else if (strcmp(kind, "Group") == 0) {
		bucket_add(&binding->scope->groups, name, subject);
	} else if (strcmp(kind, "ServiceAccount") == 0 && *sa_ns) {
		user = xasprintf(USER_SA_PREFIX "%s:%s", sa_ns, name);
		bucket_add(&binding->scope->users, user, subject);
	} else {
		return;
	}
	subject->told = user ? xasprintf("%s \"%s/%s\"", kind, name, sa_ns)
			     : xasprintf("%s \"%s\"", kind, name);
	subject->binding = binding;
	binding->count++;
}

static void
binding_set_role(struct rbac *rbac, struct binding *binding, const char *ns,
		 const json_t *ref)
{
	const char *kind = json_string_value(json_object_get(ref, "kind"));
	const char *name = json_string_value(json_object_get(ref, "name"));
	AUTO(free_ptr) char *key = NULL;

	binding->role_kind = xstrdup(kind ? kind : "");
	binding->role_name = xstrdup(name ? name : "");
	if (strcmp(binding->role_kind, "ClusterRole") == 0)
		key = key_of("", binding->role_name);
	else if (strcmp(binding->role_kind, "Role") == 0 && *ns)
		key = key_of(ns, binding->role_name);
	else
		return;
	binding->role = role_get(rbac, key);
	binding->role->bindings++;
}

static void
on_binding(const struct event *event, void *arg)
{
	struct rbac *rbac = arg;
	const struct object *object = event->object;
	const char *ns = object->namespace_;
	AUTO(free_ptr) char *key = key_of(ns, object->name);
	AUTO(js_unref) json_t *json = NULL;
	struct binding *binding;
	const json_t *subjects;
	size_t size;

	binding_drop(rbac, key);
	if (event->type == EVENT_DELETED)
		return;
	json = object_json(object);
	subjects = json_object_get(json, "subjects");
	size = json_array_size(subjects);
	binding = xmalloc0(sizeof(*binding) + size * sizeof(struct subject));
	binding->key = TAKE_PTR(key);
	map_put(&rbac->bindings, &binding->node, binding->key);
	binding->scope = scope_get(rbac, ns);
	binding->scope->bindings++;
	binding_set_role(rbac, binding, ns, json_object_get(json, "roleRef"));
	for (size_t i = 0; i < size; i++)
		subject_add(binding, ns, json_array_get(subjects, i));
}

struct rbac *
rbac_new(struct store *store)
{
	static const struct {
		const char *resource;
		void (*fn)(const struct event *event, void *arg);
	} kinds[] = {
		{ "clusterroles", on_role },
		{ "roles", on_role },
		{ "clusterrolebindings", on_binding },
		{ "rolebindings", on_binding },
	};
	struct rbac *rbac = xmalloc0(sizeof(*rbac));

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		rbac->following[i] =
			follow(store, RBAC_GROUP, kinds[i].resource,
			       kinds[i].fn, rbac);
	return rbac;
}

void
rbac_free(struct rbac *rbac)
{
	struct map_node *node;
	struct map_node *next;

	if (!rbac)
		return;
	for (size_t i = 0; i < ARRAY_LEN(rbac->following); i++)
		unsubscribe(rbac->following[i]);
	for (node = map_next(&rbac->bindings, NULL); node; node = next) {
		next = map_next(&rbac->bindings, node);
		binding_drop(rbac, node->key);
	}
	for (node = map_next(&rbac->roles, NULL); node; node = next) {
		struct role *role = MAP_ENTRY(node, struct role, node);

		next = map_next(&rbac->roles, node);
		role->present = false;
		role_put(rbac, role);
	}
	map_done(&rbac->bindings);
	map_done(&rbac->roles);
	map_done(&rbac->scopes);
	map_done(&rbac->cluster.users);
	map_done(&rbac->cluster.groups);
	free(rbac);
}

/* Goes through the bindings of a user, each once. */
struct visit {
	bool (*fn)(struct visit *visit, const struct subject *subject);
	const struct rule_query *query;
	const struct subject *found;
	const struct rules **list;
	size_t count;
	size_t size;
	struct buf errors; /* about roles that are missing; limit 0: unwanted */
	unsigned n_errors;
};

static void
visit_missing(struct visit *visit, const struct binding *binding)
{
	struct buf *errors = &visit->errors;
	const char *kind;

	if (!errors->limit)
		return;
	if (visit->n_errors++)
		(void)buf_append_str(errors, ", ");
	if (!binding->role) {
		(void)buf_printf(errors,
				 "unsupported role reference kind: \"%s\"",
				 binding->role_kind);
		return;
	}
	/* The key of a ClusterRole has no namespace. */
	kind = binding->role->key[0] == '/' ? "clusterrole" : "role";
	(void)buf_printf(errors, "%s." RBAC_GROUP " \"%s\" not found", kind,
			 binding->role_name);
}

/* True when the visit is over. */
static bool
visit_bucket(struct rbac *rbac, const struct map *map, const char *name,
	     struct visit *visit)
{
	struct map_node *node = map_get(map, name);

	if (!node)
		return false;
	for (const struct subject *s =
		     MAP_ENTRY(node, struct bucket, node)->first;
	     s; s = s->next) {
		struct binding *binding = s->binding;

		if (binding->visit == rbac->visit)
			continue;
		binding->visit = rbac->visit;
		if (!binding->role || !binding->role->present)
			visit_missing(visit, binding);
		else if (visit->fn(visit, s))
			return true;
	}
	return false;
}

static bool
visit_scope(struct rbac *rbac, const struct scope *scope,
	    const struct user *user, struct visit *visit)
{
	if (visit_bucket(rbac, &scope->users, user->name, visit))
		return true;
	for (size_t i = 0; i < user->n_groups; i++) {
		if (visit_bucket(rbac, &scope->groups, user->groups[i], visit))
			return true;
	}
	return false;
}

static void
visit_bindings(struct rbac *rbac, const struct user *user, const char *ns,
	       struct visit *visit)
{
	const struct scope *scope;

	rbac->visit++;
	if (visit_scope(rbac, &rbac->cluster, user, visit) || !*ns)
		return;
	scope = scope_find(rbac, ns);
	if (scope)
		(void)visit_scope(rbac, scope, user, visit);
}

static bool
visit_allows(struct visit *visit, const struct subject *subject)
{
	if (!rules_allow(&subject->binding->role->rules, visit->query))
		return false;
	visit->found = subject;
	return true;
}

static bool
visit_collect(struct visit *visit, const struct subject *subject)
{
	if (visit->count == visit->size) {
		visit->size = visit->size ? visit->size * 2 : 8;
		visit->list = xrealloc((void *)visit->list,
				       visit->size * sizeof(struct rules *));
	}
	visit->list[visit->count++] = &subject->binding->role->rules;
	return false;
}

/* The sentence of what was missing, or NULL. */
static char *
errors_text(const struct visit *visit)
{
	if (!visit->n_errors || !visit->errors.data)
		return NULL;
	return xasprintf(visit->n_errors > 1 ? "[%s]" : "%s",
			 (const char *)visit->errors.data);
}

static char *
reason_of(const struct subject *subject)
{
	const struct binding *binding = subject->binding;
	const char *slash = strchr(binding->key, '/');
	const char *name = slash + 1;

	if (slash == binding->key)
		return xasprintf("RBAC: allowed by ClusterRoleBinding \"%s\" "
				 "of %s \"%s\" to %s",
				 name, binding->role_kind, binding->role_name,
				 subject->told);
	return xasprintf("RBAC: allowed by RoleBinding \"%s/%.*s\" of %s "
			 "\"%s\" to %s",
			 name, (int)(slash - binding->key), binding->key,
			 binding->role_kind, binding->role_name, subject->told);
}

bool
rbac_allows(struct rbac *rbac, const struct user *user,
	    const struct attributes *attr, const char *name, char **ret_reason)
{
	struct rule_query query;
	struct visit visit = { .fn = visit_allows, .query = &query };
	AUTO(free_ptr) char *errors = NULL;

	visit.errors = BUF_INIT(ret_reason ? ERRORS_MAX_BYTES : 0);
	rule_query_init(&query, attr, name);
	visit_bindings(rbac, user,
		       attr->is_resource && attr->namespace_ ? attr->namespace_
							     : "",
		       &visit);
	rule_query_done(&query);
	if (ret_reason) {
		errors = errors_text(&visit);
		if (visit.found)
			*ret_reason = reason_of(visit.found);
		else
			*ret_reason =
				errors ? xasprintf("RBAC: %s", errors) : NULL;
	}
	buf_done(&visit.errors);
	return visit.found != NULL;
}

size_t
rbac_rules(struct rbac *rbac, const struct user *user, const char *ns,
	   const struct rules ***ret, char **ret_error)
{
	struct visit visit = { .fn = visit_collect };

	visit.errors = BUF_INIT(ret_error ? ERRORS_MAX_BYTES : 0);
	visit_bindings(rbac, user, ns, &visit);
	if (ret_error)
		*ret_error = errors_text(&visit);
	buf_done(&visit.errors);
	*ret = visit.list;
	return visit.count;
}

const struct rules *
rbac_role(struct rbac *rbac, const char *kind, const char *ns, const char *name)
{
	bool cluster = strcmp(kind, "ClusterRole") == 0;
	AUTO(free_ptr) char *key = NULL;
	struct role *role;

	if (!cluster && (strcmp(kind, "Role") != 0 || !*ns))
		return NULL;
	key = key_of(cluster ? "" : ns, name);
	role = role_find(rbac, key);
	return role && role->present ? &role->rules : NULL;
}
