/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "kube/credential.h"
#include "kube/kubeconfig.h"

#define LOOK_EVERY_MS 1000

static struct kube_config *
config_new(const char *origin)
{
	struct kube_config *c = xmalloc0(sizeof(*c));

	c->origin = xstrdup(origin);
	c->context = xstrdup("");
	return c;
}

void
kube_config_free(struct kube_config *c)
{
	if (c == NULL)
		return;
	credential_done(&c->ca);
	credential_done(&c->cert);
	credential_done(&c->key);
	credential_done(&c->token);
	free(c->server);
	free(c->ns);
	free(c->context);
	free(c->origin);
	free(c->tls_name);
	free(c);
}

void
kube_config_unref(struct kube_config **pointer)
{
	kube_config_free(*pointer);
	*pointer = NULL;
}

static void
set(char **text, const char *value)
{
	free(*text);
	*text = value != NULL ? xstrdup(value) : NULL;
}

/* The environment's. */
static struct kube_places
usual_places(void)
{
	return (struct kube_places){
		.kubeconfig_env = getenv("KUBECONFIG"),
		.home = getenv("HOME"),
		.host = getenv("KUBERNETES_SERVICE_HOST"),
		.port = getenv("KUBERNETES_SERVICE_PORT"),
		.service_account = KUBE_SERVICE_ACCOUNT,
	};
}

static bool
is_in_pod(const struct kube_places *p)
{
	return p->host != NULL && *p->host != '\0' && p->port != NULL &&
	       *p->port != '\0';
}

static int
read_credential(struct kube_credential *cred, const char *dir, const char *name,
		struct err *err)
{
	char *path = xasprintf("%s/%s", dir, name);

	if (credential_from_file(cred, path, str_equal(name, "token"), err) ==
	    0)
		return 0;
	free(path);
	return -1;
}

int
kube_config_in_cluster(const struct kube_places *places,
		       struct kube_config **ret, struct err *err)
{
	AUTO(kube_config_unref)
	struct kube_config *c = config_new("in-cluster");
	struct kube_credential ns = { 0 };
	struct kube_places usual = usual_places();
	const struct kube_places *p = places != NULL ? places : &usual;
	bool ipv6;

	if (!is_in_pod(p))
		return err_set(err, ERR_NOT_FOUND,
			       "not in a pod: KUBERNETES_SERVICE_HOST and "
			       "KUBERNETES_SERVICE_PORT are not set");
	ipv6 = strchr(p->host, ':') != NULL;
	c->server = xasprintf("https://%s%s%s:%s", ipv6 ? "[" : "", p->host,
			      ipv6 ? "]" : "", p->port);
	if (read_credential(&c->token, p->service_account, "token", err) == -1)
		return err_prefix(err, "service account");
	/* Without it the server's certificate is checked with the system's. */
	if (read_credential(&c->ca, p->service_account, "ca.crt", err) == -1 &&
	    err->kind != ERR_NOT_FOUND)
		return err_prefix(err, "service account");
	if (read_credential(&ns, p->service_account, "namespace", err) == 0) {
		ns.text[strcspn(ns.text, " \t\r\n")] = '\0';
		set(&c->ns, ns.text);
		credential_done(&ns);
	} else {
		set(&c->ns, "default");
	}
	*ret = TAKE_PTR(c);
	return 0;
}

/* What was said on the command line. */
static int
override(struct kube_config *c, const struct kube_flags *f, struct err *err)
{
	size_t len;

	if (f->server != NULL) {
		set(&c->server, f->server);
		set(&c->tls_name, NULL);
	}
	if (f->ns != NULL)
		set(&c->ns, f->ns);
	if (f->token != NULL) {
		credential_done(&c->cert);
		credential_done(&c->key);
		credential_done(&c->token);
		c->token.text = xstrdup(f->token);
	}
	if (c->ns == NULL || *c->ns == '\0')
		set(&c->ns, "default");
	if (c->server == NULL)
		return err_set(err, ERR_INVALID, "%s: no server is named",
			       c->origin);
	len = strlen(c->server);
	while (len > 0 && c->server[len - 1] == '/')
		c->server[--len] = '\0';
	if (!str_has_prefix(c->server, "https://") &&
	    !str_has_prefix(c->server, "http://"))
		return err_set(err, ERR_INVALID,
			       "%s: server '%s' is no http or https URL",
			       c->origin, c->server);
	return 0;
}

/* The files there are; none is no failure unless one was asked for. */
static int
find_files(struct kubeconfig *k, const struct kube_flags *flags,
	   const struct kube_places *p, struct err *err)
{
	AUTO(free_ptr) char *usual = NULL;

	if (flags->kubeconfig != NULL)
		return kubeconfig_add_file(k, flags->kubeconfig, true, err);
	if (p->kubeconfig_env != NULL && *p->kubeconfig_env != '\0')
		return kubeconfig_add_list(k, p->kubeconfig_env, err);
	if (p->home == NULL || *p->home == '\0')
		return 0;
	usual = xasprintf("%s/.kube/config", p->home);
	return kubeconfig_add_file(k, usual, false, err);
}

static int
load(struct kubeconfig *k, const struct kube_flags *flags,
     const struct kube_places *p, struct kube_config **ret, struct err *err)
{
	AUTO(kube_config_unref) struct kube_config *c = NULL;

	if (find_files(k, flags, p, err) == -1)
		return -1;
	if (k->count == 0 && flags->server == NULL) {
		if (is_in_pod(p)) {
			if (kube_config_in_cluster(p, &c, err) == -1)
				return -1;
		} else {
			return err_set(err, ERR_NOT_FOUND,
				       "no API server: no kubeconfig, and not "
				       "in a pod");
		}
	} else {
		AUTO(free_ptr) char *origin = kubeconfig_origin(k);

		c = config_new(origin);
		if (kubeconfig_apply(k, flags, c, err) == -1)
			return -1;
	}
	if (override(c, flags, err) == -1)
		return -1;
	*ret = TAKE_PTR(c);
	return 0;
}

int
kube_config_load(const struct kube_flags *flags,
		 const struct kube_places *places, struct kube_config **ret,
		 struct err *err)
{
	static const struct kube_flags none;
	struct kube_places usual = usual_places();
	struct kubeconfig k = { 0 };
	int result;

	result = load(&k, flags != NULL ? flags : &none,
		      places != NULL ? places : &usual, ret, err);
	kubeconfig_done(&k);
	return result;
}

int
kube_config_contexts(const struct kube_flags *flags,
		     const struct kube_places *places, json_t **ret,
		     struct err *err)
{
	struct kube_places usual = usual_places();
	struct kubeconfig k = { 0 };
	int result;

	result = find_files(&k, flags, places != NULL ? places : &usual, err);
	if (result == 0)
		*ret = kubeconfig_contexts(&k);
	kubeconfig_done(&k);
	return result;
}

static bool
refresh_one(struct kube_credential *cred, bool token)
{
	struct err err;

	return credential_is_stale(cred) &&
	       credential_reread(cred, token, &err) == 0;
}

/* Both or neither: half of a pair is worse than an old one. */
static bool
refresh_pair(struct kube_credential *cert, struct kube_credential *key)
{
	struct kube_credential new_cert = { 0 };
	struct kube_credential new_key = { 0 };
	struct err err;

	if (cert->path == NULL || key->path == NULL)
		return false;
	if (!credential_is_stale(cert) && !credential_is_stale(key))
		return false;
	new_cert.path = xstrdup(cert->path);
	new_key.path = xstrdup(key->path);
	if (credential_reread(&new_cert, false, &err) == -1 ||
	    credential_reread(&new_key, false, &err) == -1) {
		credential_done(&new_cert);
		credential_done(&new_key);
		return false;
	}
	credential_done(cert);
	credential_done(key);
	*cert = new_cert;
	*key = new_key;
	return true;
}

bool
kube_config_refresh(struct kube_config *c, uint64_t now_ms)
{
	bool changed;

	if (c->looked_ms != 0 && now_ms - c->looked_ms < LOOK_EVERY_MS)
		return false;
	c->looked_ms = now_ms;
	changed = refresh_one(&c->token, true);
	changed |= refresh_one(&c->ca, false);
	changed |= refresh_pair(&c->cert, &c->key);
	if (changed)
		c->version++;
	return changed;
}
