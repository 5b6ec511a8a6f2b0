/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/user.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

struct user *
user_new(const char *name, const char *uid)
{
	struct user *user = xmalloc0(sizeof(*user));

	user->refs = 1;
	user->name = xstrdup(name);
	if (uid && *uid)
		user->uid = xstrdup(uid);
	return user;
}

void
user_add_group(struct user *user, const char *group)
{
	if (user_in_group(user, group))
		return;
	user->groups = xrealloc(user->groups,
				(user->n_groups + 1) * sizeof(*user->groups));
	user->groups[user->n_groups++] = xstrdup(group);
}

void
user_add_extra(struct user *user, const char *name, const char *value)
{
	json_t *values;

	if (!user->extra)
		user->extra = json_object();
	values = json_object_get(user->extra, name);
	if (!values) {
		values = json_array();
		(void)json_object_set_new(user->extra, name, values);
	}
	(void)json_array_append_new(values, json_string(value));
}

struct user *
user_authenticated(const char *name, const char *uid, const char *const *groups,
		   size_t n_groups)
{
	struct user *user = user_new(name, uid);

	for (size_t i = 0; i < n_groups; i++)
		user_add_group(user, groups[i]);
	user_add_group(user, USER_ALL_AUTHENTICATED);
	return user;
}

struct user *
user_service_account(const char *ns, const char *name, const char *uid)
{
	AUTO(free_ptr) char *full = xasprintf(USER_SA_PREFIX "%s:%s", ns, name);
	AUTO(free_ptr) char *group = xasprintf(USER_SA_GROUP ":%s", ns);
	const char *const groups[] = { USER_SA_GROUP, group };

	return user_authenticated(full, uid, groups, ARRAY_LEN(groups));
}

struct user *
user_ref(struct user *user)
{
	user->refs++;
	return user;
}

void
user_unref(struct user *user)
{
	if (!user || --user->refs > 0)
		return;
	free(user->name);
	free(user->uid);
	for (size_t i = 0; i < user->n_groups; i++)
		free(user->groups[i]);
	free((void *)user->groups);
	json_decref(user->extra);
	free(user);
}

void
user_release(struct user **user)
{
	user_unref(*user);
	*user = NULL;
}

bool
user_in_group(const struct user *user, const char *group)
{
	for (size_t i = 0; i < user->n_groups; i++) {
		if (strcmp(user->groups[i], group) == 0)
			return true;
	}
	return false;
}

bool
user_is_node(const struct user *user, const char **ret_node)
{
	if (!str_has_prefix(user->name, USER_NODE_PREFIX) ||
	    !user_in_group(user, USER_NODES))
		return false;
	*ret_node = user->name + strlen(USER_NODE_PREFIX);
	return true;
}

bool
user_name_is_service_account(const char *name, char **ret_ns,
			     const char **ret_sa)
{
	const char *ns = name + strlen(USER_SA_PREFIX);
	const char *colon;

	if (!str_has_prefix(name, USER_SA_PREFIX))
		return false;
	colon = strchr(ns, ':');
	if (!colon || colon == ns || !colon[1] || strchr(colon + 1, ':'))
		return false;
	*ret_ns = xstrndup(ns, (size_t)(colon - ns));
	*ret_sa = colon + 1;
	return true;
}

json_t *
user_json(const struct user *user)
{
	json_t *info = json_object();

	(void)json_object_set_new(info, "username", json_string(user->name));
	if (user->uid)
		(void)json_object_set_new(info, "uid", json_string(user->uid));
	if (user->n_groups) {
		json_t *groups = json_array();

		for (size_t i = 0; i < user->n_groups; i++)
			(void)json_array_append_new(
				groups, json_string(user->groups[i]));
		(void)json_object_set_new(info, "groups", groups);
	}
	/* A copy: who gets the answer may change it. */
	if (user->extra)
		(void)json_object_set_new(info, "extra",
					  json_deep_copy(user->extra));
	return info;
}
