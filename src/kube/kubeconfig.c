/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubeconfig.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "kube/credential.h"
#include "meta/yaml.h"

void
kubeconfig_done(struct kubeconfig *k)
{
	for (size_t i = 0; i < k->count; i++) {
		free(k->files[i].path);
		free(k->files[i].dir);
		json_decref(k->files[i].doc);
	}
	*k = (struct kubeconfig){ 0 };
}

static char *
dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return xstrdup(".");
	return slash == path ? xstrdup("/")
			     : xstrndup(path, (size_t)(slash - path));
}

int
kubeconfig_add_file(struct kubeconfig *k, const char *path, bool must,
		    struct err *err)
{
	AUTO(free_ptr) char *text = NULL;
	AUTO(js_unref) json_t *doc = NULL;
	size_t len;

	if (k->count == KUBE_CONFIG_FILES_MAX)
		return err_set(err, ERR_LIMIT, "more than %d kubeconfigs",
			       KUBE_CONFIG_FILES_MAX);
	if (path_read_file(path, KUBE_CONFIG_FILE_MAX, &text, &len, err) == -1)
		return !must && err->kind == ERR_NOT_FOUND ? 0 : -1;
	doc = yaml_to_json(text, len, err);
	if (doc == NULL)
		return err_prefix(err, "kubeconfig '%s'", path);
	if (json_is_null(doc) && !must)
		return 0;
	if (!json_is_object(doc))
		return err_set(err, ERR_INVALID,
			       "kubeconfig '%s' is no mapping", path);
	k->files[k->count++] = (struct kubeconfig_file){
		.path = xstrdup(path),
		.dir = dir_of(path),
		.doc = TAKE_PTR(doc),
	};
	return 0;
}

int
kubeconfig_add_list(struct kubeconfig *k, const char *list, struct err *err)
{
	while (*list != '\0') {
		size_t len = strcspn(list, ":");
		AUTO(free_ptr) char *path = xstrndup(list, len);

		if (len > 0 && kubeconfig_add_file(k, path, false, err) == -1)
			return -1;
		list += len + (list[len] == ':');
	}
	return 0;
}

char *
kubeconfig_origin(const struct kubeconfig *k)
{
	char *origin = NULL;

	for (size_t i = 0; i < k->count; i++) {
		char *longer = xasprintf("%s%s%s", i > 0 ? origin : "",
					 i > 0 ? ":" : "", k->files[i].path);

		free(origin);
		origin = longer;
	}
	return origin != NULL ? origin : xstrdup("command line");
}

json_t *
kubeconfig_contexts(const struct kubeconfig *k)
{
	json_t *names = json_object(); /* in order, and each once */
	json_t *found = json_array();
	const json_t *entry;
	const char *name;
	json_t *one;
	size_t n;

	for (size_t i = 0; i < k->count; i++) {
		json_array_foreach(js_arr_at(k->files[i].doc, "contexts"), n,
				   entry)
		{
			json_object_set_new(names, js_str_at(entry, "name"),
					    json_true());
		}
	}
	json_object_foreach(names, name, one)
	{
		if (*name != '\0')
			json_array_append_new(found, json_string(name));
	}
	json_decref(names);
	return found;
}

/* What a list ("clusters") has under a name, and in which file. */
static json_t *
find_entry(const struct kubeconfig *k, const char *list, const char *name,
	   const struct kubeconfig_file **ret_file)
{
	for (size_t i = 0; i < k->count; i++) {
		const struct kubeconfig_file *file = &k->files[i];
		json_t *entry =
			js_find(js_arr_at(file->doc, list), "name", name);

		if (entry != NULL) {
			*ret_file = file;
			return entry;
		}
	}
	return NULL;
}

/* One member of a kubeconfig that is being looked at. */
struct part {
	const struct kubeconfig_file *file;
	const char *what; /* "user" */
	const char *name;
	json_t *value;
};

static int
find_part(const struct kubeconfig *k, const char *what, const char *name,
	  struct part *ret, struct err *err)
{
	AUTO(free_ptr) char *list = xasprintf("%ss", what);
	json_t *entry;

	*ret = (struct part){ .what = what, .name = name };
	entry = find_entry(k, list, name, &ret->file);
	if (entry == NULL)
		return err_set(err, ERR_NOT_FOUND, "there is no %s '%s' in %s",
			       what, name,
			       k->count == 1 ? k->files[0].path
					     : "the kubeconfigs");
	ret->value = js_obj_at(entry, what);
	if (ret->value == NULL)
		return err_set(err, ERR_INVALID, "%s: %s '%s' is empty",
			       ret->file->path, what, name);
	return 0;
}

static int
get_text(const struct part *part, const char *member, const char **ret,
	 struct err *err)
{
	*ret = NULL;
	if (js_opt_str(part->value, member, ret, err) == -1)
		return err_prefix(err, "%s: %s '%s'", part->file->path,
				  part->what, part->name);
	if (*ret != NULL && **ret == '\0')
		*ret = NULL;
	return 0;
}

static int
copy_text(const struct part *part, const char *member, char **to,
	  struct err *err)
{
	const char *text;

	if (get_text(part, member, &text, err) == -1)
		return -1;
	free(*to);
	*to = text != NULL ? xstrdup(text) : NULL;
	return 0;
}

/* "NAME-data" if there is one, or the file "NAME". */
static int
get_pem(const struct part *part, const char *member,
	struct kube_credential *cred, struct err *err)
{
	AUTO(free_ptr) char *data_member = xasprintf("%s-data", member);
	const char *data;
	const char *path;
	char *whole;

	if (get_text(part, data_member, &data, err) == -1 ||
	    get_text(part, member, &path, err) == -1)
		return -1;
	if (data != NULL) {
		if (credential_from_data(cred, data, data_member, err) == 0)
			return 0;
		return err_prefix(err, "%s: %s '%s'", part->file->path,
				  part->what, part->name);
	}
	if (path == NULL)
		return 0;
	whole = *path == '/' ? xstrdup(path)
			     : xasprintf("%s/%s", part->file->dir, path);
	if (credential_from_file(cred, whole, false, err) == -1) {
		free(whole);
		return err_prefix(err, "%s: %s '%s': %s", part->file->path,
				  part->what, part->name, member);
	}
	return 0;
}

static int
refuse_members(const struct part *part, const char *const *members,
	       size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const json_t *value = js_at(part->value, members[i]);

		if (value == NULL ||
		    (json_is_string(value) && json_string_length(value) == 0))
			continue;
		return err_set(err, ERR_INVALID,
			       "%s: %s '%s' has '%s', which Ferry does not "
			       "support",
			       part->file->path, part->what, part->name,
			       members[i]);
	}
	return 0;
}

static int
apply_cluster(const struct part *cluster, struct kube_config *c,
	      struct err *err)
{
	static const char *const refused[] = { "proxy-url" };

	if (refuse_members(cluster, refused, ARRAY_LEN(refused), err) == -1 ||
	    copy_text(cluster, "server", &c->server, err) == -1 ||
	    copy_text(cluster, "tls-server-name", &c->tls_name, err) == -1 ||
	    get_pem(cluster, "certificate-authority", &c->ca, err) == -1)
		return -1;
	if (js_opt_bool(cluster->value, "insecure-skip-tls-verify",
			&c->insecure, err) == -1)
		return err_prefix(err, "%s: cluster '%s'", cluster->file->path,
				  cluster->name);
	if (c->insecure && c->ca.text != NULL)
		return err_set(err, ERR_INVALID,
			       "%s: cluster '%s' has a CA and "
			       "insecure-skip-tls-verify: one of them is wrong",
			       cluster->file->path, cluster->name);
	return 0;
}

static int
apply_token(const struct part *user, struct kube_config *c, struct err *err)
{
	const char *token;
	const char *path;
	char *whole;

	if (get_text(user, "token", &token, err) == -1 ||
	    get_text(user, "tokenFile", &path, err) == -1)
		return -1;
	/* The file is the one that may change; it wins, as with kubectl. */
	if (path != NULL) {
		whole = *path == '/'
				? xstrdup(path)
				: xasprintf("%s/%s", user->file->dir, path);
		if (credential_from_file(&c->token, whole, true, err) == 0)
			return 0;
		free(whole);
		return err_prefix(err, "%s: user '%s': tokenFile",
				  user->file->path, user->name);
	}
	if (token != NULL)
		c->token.text = xstrdup(token);
	return 0;
}

static int
apply_user(const struct part *user, struct kube_config *c, struct err *err)
{
	static const char *const refused[] = {
		"exec", "auth-provider", "username",  "password",
		"as",   "as-uid",        "as-groups", "as-user-extra",
	};

	if (refuse_members(user, refused, ARRAY_LEN(refused), err) == -1 ||
	    get_pem(user, "client-certificate", &c->cert, err) == -1 ||
	    get_pem(user, "client-key", &c->key, err) == -1 ||
	    apply_token(user, c, err) == -1)
		return -1;
	if ((c->cert.text == NULL) != (c->key.text == NULL))
		return err_set(err, ERR_INVALID,
			       "%s: user '%s' has a certificate or a key, but "
			       "not both",
			       user->file->path, user->name);
	return 0;
}

static const char *
current_context(const struct kubeconfig *k)
{
	for (size_t i = 0; i < k->count; i++) {
		const char *name =
			js_str_at(k->files[i].doc, "current-context");

		if (*name != '\0')
			return name;
	}
	return "";
}

int
kubeconfig_apply(const struct kubeconfig *k, const struct kube_flags *flags,
		 struct kube_config *c, struct err *err)
{
	const char *name =
		flags->context != NULL ? flags->context : current_context(k);
	const char *cluster_name;
	const char *user_name;
	struct part context;
	struct part cluster;
	struct part user;

	if (*name == '\0') {
		if (flags->server != NULL)
			return 0;
		return err_set(err, ERR_NOT_FOUND,
			       "%s: there is no current-context", c->origin);
	}
	if (find_part(k, "context", name, &context, err) == -1 ||
	    get_text(&context, "cluster", &cluster_name, err) == -1 ||
	    get_text(&context, "user", &user_name, err) == -1 ||
	    copy_text(&context, "namespace", &c->ns, err) == -1)
		return -1;
	free(c->context);
	c->context = xstrdup(name);
	if (cluster_name == NULL)
		return err_set(err, ERR_INVALID,
			       "%s: context '%s' names no cluster",
			       context.file->path, name);
	if (find_part(k, "cluster", cluster_name, &cluster, err) == -1 ||
	    apply_cluster(&cluster, c, err) == -1)
		return -1;
	/* What is refused for a user does not matter where he is not used. */
	if (user_name == NULL || flags->token != NULL)
		return 0;
	if (find_part(k, "user", user_name, &user, err) == -1)
		return -1;
	return apply_user(&user, c, err);
}
