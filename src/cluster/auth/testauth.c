/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/testauth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/test.h"
#include "cluster/auth/aggregation.h"
#include "cluster/auth/bootstrap.h"
#include "cluster/auth/rbac.h"
#include "cluster/auth/rolestore.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/yaml.h"

static const struct {
	const char *kind;
	const char *group;
	const char *resource;
} kinds[] = {
	{ "ClusterRole", RBAC_GROUP, "clusterroles" },
	{ "Role", RBAC_GROUP, "roles" },
	{ "ClusterRoleBinding", RBAC_GROUP, "clusterrolebindings" },
	{ "RoleBinding", RBAC_GROUP, "rolebindings" },
	{ "Pod", "", "pods" },
	{ "Node", "", "nodes" },
	{ "Secret", "", "secrets" },
	{ "ServiceAccount", "", "serviceaccounts" },
	{ "PersistentVolume", "", "persistentvolumes" },
};

static struct collection *
collection_of(struct testauth *t, const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) == 0)
			return store_collection(t->store, kinds[i].group,
						kinds[i].resource);
	}
	fail_msg("no kind %s", kind);
	return NULL;
}

static struct testauth *
open_store(void)
{
	struct testauth *t = xmalloc0(sizeof(*t));
	struct store_config config = { 0 };
	struct err err;

	js_init();
	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/ferry-auth-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	t->loop = loop_new();
	config.dir = t->dir;
	config.loop = t->loop;
	t->store = store_open(&config, &err);
	if (!t->store)
		fail_msg("%s", err.text);
	return t;
}

int
testauth_set_up_empty(void **state)
{
	struct testauth *t = open_store();

	t->authz = authz_new(t->store);
	*state = t;
	return 0;
}

int
testauth_set_up(void **state)
{
	struct testauth *t = open_store();
	struct err err;

	assert_int_equal(bootstrap_apply(t->store, &err), 0);
	t->aggregation = aggregation_new(t->store, t->loop);
	testauth_settle(t);
	t->authz = authz_new(t->store);
	*state = t;
	return 0;
}

int
testauth_tear_down(void **state)
{
	struct testauth *t = *state;
	struct err err;
	int result;

	authz_free(t->authz);
	aggregation_free(t->aggregation);
	store_close(t->store);
	loop_free(t->loop);
	result = path_remove_tree(t->dir, &err);
	free(t);
	return result;
}

void
testauth_settle(struct testauth *t)
{
	uint64_t rv;
	struct err err;

	do {
		rv = store_rv(t->store);
		assert_int_equal(store_flush(t->store, &err), 0);
		loop_poll(t->loop);
	} while (store_rv(t->store) != rv);
}

void
testauth_put(struct testauth *t, const char *yaml)
{
	AUTO(yaml_docs_unref)
	struct yaml_docs *docs = yaml_docs_new(yaml, strlen(yaml));
	struct err err = { .text = "" };
	json_t *obj;
	int more;

	while ((more = yaml_docs_next(docs, &obj, &err)) == 1) {
		/* A separator at the end starts an empty one. */
		if (!json_is_null(obj))
			rolestore_put(collection_of(t, js_str_at(obj, "kind")),
				      obj);
		json_decref(obj);
	}
	if (more == -1)
		fail_msg("%s", err.text);
	testauth_settle(t);
}

void
testauth_remove(struct testauth *t, const char *kind, const char *ns,
		const char *name)
{
	rolestore_remove(collection_of(t, kind), ns, name);
	testauth_settle(t);
}

json_t *
testauth_get(struct testauth *t, const char *kind, const char *ns,
	     const char *name)
{
	const struct object *object =
		store_get(collection_of(t, kind), ns, name);

	return object ? object_json(object) : NULL;
}

const char *
testauth_uid(struct testauth *t, const char *kind, const char *ns,
	     const char *name)
{
	const struct object *object =
		store_get(collection_of(t, kind), ns, name);

	assert_non_null(object);
	return object->uid;
}

struct user *
testauth_user(const char *text)
{
	AUTO(free_ptr) char *copy = xstrdup(text);
	char *rest = copy;
	struct user *user = user_new(strsep(&rest, " "), NULL);
	const char *group;

	while ((group = strsep(&rest, " ")))
		user_add_group(user, group);
	user_add_group(user, USER_ALL_AUTHENTICATED);
	return user;
}

/* Cuts at the character, if it is there, and returns what is behind it. */
static char *
cut(char *text, const char *mark)
{
	char *at = strstr(text, mark);

	if (!at)
		return NULL;
	*at = '\0';
	return at + strlen(mark);
}

void
testauth_ask(struct testauth_ask *ret, const char *text)
{
	struct attributes *attr = &ret->attr;
	char *rest;

	*ret = (struct testauth_ask){ .text = xstrdup(text) };
	attr->field_selector = cut(ret->text, " where ");
	attr->namespace_ = cut(ret->text, " in ");
	attr->verb = ret->text;
	rest = cut(ret->text, " ");
	assert_non_null(rest);
	if (*rest == '/') {
		attr->path = rest;
		return;
	}
	attr->is_resource = true;
	attr->version = "v1";
	attr->resource = rest;
	attr->name = cut(rest, ":");
	attr->group = cut(rest, ".");
	attr->subresource = cut(rest, "/");
}

void
testauth_ask_done(struct testauth_ask *ask)
{
	free(ask->text);
}

bool
testauth_may(struct testauth *t, const char *who, const char *what)
{
	AUTO(user_release) struct user *user = testauth_user(who);
	AUTO(testauth_ask_done) struct testauth_ask ask;

	testauth_ask(&ask, what);
	return authz_check(t->authz, user, &ask.attr, NULL) == AUTHZ_ALLOW;
}

void
testauth_try(struct testauth *t, const struct testauth_line *lines,
	     size_t count)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < count; i++) {
		if (testauth_may(t, lines[i].who, lines[i].what) ==
		    lines[i].may)
			continue;
		wrong++;
		print_error("%s %s: %s\n", lines[i].who,
			    lines[i].may ? "may not" : "may", lines[i].what);
	}
	assert_int_equal(wrong, 0);
}

void
testauth_assert_refused(struct status *st, int code, const char *message)
{
	assert_non_null(st->message);
	assert_string_equal(st->message, message);
	assert_int_equal(st->code, code);
	status_done(st);
}
