/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/auth/user.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/causes.h"
#include "meta/gofmt.h"
#include "meta/status.h"
#include "meta/time.h"
#include "tls/jwt.h"

/* Tokens whose signatures were found right and are remembered. */
#define CACHE_MAX 1024

/* Of the audiences in a message; the rest is cut. */
#define QUOTED_MAX 80

#define LIFE_DEFAULT_S 3600
#define LIFE_MIN_S 600
#define LIFE_MAX_S (INT64_C(1) << 32)

/* Clocks may differ by this much; what is being deleted works so long on. */
#define LEEWAY_S 60

#define CLAIMS "kubernetes.io"
#define EXTRA_POD_NAME "authentication.kubernetes.io/pod-name"
#define EXTRA_POD_UID "authentication.kubernetes.io/pod-uid"
#define EXTRA_NODE_NAME "authentication.kubernetes.io/node-name"
#define EXTRA_NODE_UID "authentication.kubernetes.io/node-uid"

struct cached {
	struct map_node node;
	json_t *claims;
	char token[];
};

struct tokens {
	struct store *store;
	struct jwt_key *key;
	char *issuer;
	json_t *own_audiences;
	struct collection *accounts;
	struct collection *pods;
	struct collection *secrets;
	struct collection *nodes;
	struct map cache;
	struct cached *ring[CACHE_MAX]; /* in order of age */
	size_t next;                    /* the place of the oldest */
};

struct tokens *
tokens_new(const struct tokens_config *config)
{
	struct tokens *tokens = xmalloc0(sizeof(*tokens));

	tokens->store = config->store;
	tokens->key = config->key;
	tokens->issuer = xstrdup(config->issuer);
	tokens->own_audiences = json_array();
	(void)json_array_append_new(tokens->own_audiences,
				    json_string(config->issuer));
	tokens->accounts =
		store_collection(config->store, "", "serviceaccounts");
	tokens->pods = store_collection(config->store, "", "pods");
	tokens->secrets = store_collection(config->store, "", "secrets");
	tokens->nodes = store_collection(config->store, "", "nodes");
	return tokens;
}

static void
forget(struct tokens *tokens, size_t place)
{
	struct cached *cached = tokens->ring[place];

	if (!cached)
		return;
	map_remove(&tokens->cache, &cached->node);
	json_decref(cached->claims);
	free(cached);
	tokens->ring[place] = NULL;
}

void
tokens_free(struct tokens *tokens)
{
	if (!tokens)
		return;
	for (size_t i = 0; i < CACHE_MAX; i++)
		forget(tokens, i);
	map_done(&tokens->cache);
	json_decref(tokens->own_audiences);
	free(tokens->issuer);
	free(tokens);
}

static void
remember(struct tokens *tokens, const char *token, json_t *claims)
{
	struct cached *cached = xmalloc0(sizeof(*cached) + strlen(token) + 1);

	forget(tokens, tokens->next);
	memcpy(cached->token, token, strlen(token));
	cached->claims = json_incref(claims);
	map_put(&tokens->cache, &cached->node, cached->token);
	tokens->ring[tokens->next] = cached;
	tokens->next = (tokens->next + 1) % CACHE_MAX;
}

/* The claims of a token that this server signed; a new reference. */
static json_t *
claims_of(struct tokens *tokens, const char *token, struct err *err)
{
	const struct jwt_key *const keys[] = { tokens->key };
	struct map_node *node = map_get(&tokens->cache, token);
	AUTO(free_ptr) char *text = NULL;
	struct err why;
	json_t *claims;

	if (node)
		return json_incref(
			MAP_ENTRY(node, struct cached, node)->claims);
	claims = jwt_verify(keys, ARRAY_LEN(keys), token, &text, &why) == 0
			 ? js_parse(text, strlen(text), &why)
			 : NULL;
	if (!claims) {
		(void)err_set(err, ERR_DENIED, "invalid bearer token");
		return NULL;
	}
	remember(tokens, token, claims);
	return claims;
}

static bool
list_has(const json_t *list, const json_t *item)
{
	size_t i;
	json_t *other;

	json_array_foreach(list, i, other)
	{
		if (json_equal(item, other))
			return true;
	}
	return false;
}

/* ["a" "b"], as the message has it. */
static char *
quoted(const json_t *list)
{
	struct buf buf = BUF_INIT(QUOTED_MAX);
	size_t i;
	json_t *item;

	(void)buf_append_str(&buf, "[");
	json_array_foreach(list, i, item)
	{
		if (i)
			(void)buf_append_str(&buf, " ");
		gofmt_append_quoted(&buf, json_string_value(item)
						  ? json_string_value(item)
						  : "");
	}
	(void)buf_append_str(&buf, "]");
	return (char *)buf.data;
}

int
tokens_audiences(const struct tokens *tokens, const json_t *good_for,
		 const json_t *asked, json_t **ret, struct err *err)
{
	AUTO(js_unref) json_t *both = json_array();
	size_t i;
	json_t *item;

	if (!tokens) {
		*ret = TAKE_PTR(both);
		return 0;
	}
	if (!good_for)
		good_for = tokens->own_audiences;
	if (!json_array_size(asked))
		asked = tokens->own_audiences;
	json_array_foreach(asked, i, item)
	{
		if (json_is_string(item) && list_has(good_for, item))
			(void)json_array_append(both, item);
	}
	if (!json_array_size(both)) {
		AUTO(free_ptr) char *is = quoted(good_for);
		AUTO(free_ptr) char *should = quoted(asked);

		return err_set(err, ERR_DENIED,
			       "[invalid bearer token, token audiences %s is "
			       "invalid for the target audiences %s]",
			       is, should);
	}
	*ret = TAKE_PTR(both);
	return 0;
}

/* Gone, another one of the same name, or being deleted for too long. */
static bool
is_there(const struct collection *c, const char *ns, const char *name,
	 const char *uid)
{
	const struct object *object = store_get(c, ns, name);
	AUTO(js_unref) json_t *json = NULL;
	struct err err;
	int64_t when;

	if (!object || strcmp(object->uid, uid) != 0)
		return false;
	if (!object->deleting)
		return true;
	json = object_json(object);
	return time_parse(js_str_at(json, "metadata.deletionTimestamp"), &when,
			  &err) == 0 &&
	       when + LEEWAY_S * TIME_US_PER_SECOND > time_now_us();
}

static int
check_time(const json_t *claims, struct err *err)
{
	int64_t now = time_now_us() / TIME_US_PER_SECOND;

	if (now >= js_int_at(claims, "exp", 0))
		return err_set(err, ERR_DENIED,
			       "[invalid bearer token, service account token "
			       "has expired]");
	if (now + LEEWAY_S < js_int_at(claims, "nbf", 0))
		return err_set(err, ERR_DENIED,
			       "[invalid bearer token, service account token "
			       "is not valid yet]");
	return 0;
}

/* Whom and what the token is bound to must still be there. */
static int
check_bound(const struct tokens *tokens, const json_t *own, struct err *err)
{
	const char *ns = js_str_at(own, "namespace");
	const json_t *pod = js_obj_at(own, "pod");
	const json_t *secret = js_obj_at(own, "secret");
	/* Beside a pod it only says where that ran. */
	const json_t *node = pod ? NULL : js_obj_at(own, "node");

	if (is_there(tokens->accounts, ns,
		     js_str_at(own, "serviceaccount.name"),
		     js_str_at(own, "serviceaccount.uid")) &&
	    (!pod || is_there(tokens->pods, ns, js_str_at(pod, "name"),
			      js_str_at(pod, "uid"))) &&
	    (!secret || is_there(tokens->secrets, ns, js_str_at(secret, "name"),
				 js_str_at(secret, "uid"))) &&
	    (!node || is_there(tokens->nodes, "", js_str_at(node, "name"),
			       js_str_at(node, "uid"))))
		return 0;
	return err_set(err, ERR_DENIED,
		       "[invalid bearer token, service account token has been "
		       "invalidated]");
}

/* Name and uid of what the token is bound to, or of where that runs. */
static void
add_bound(struct user *user, const json_t *ref, const char *name_extra,
	  const char *uid_extra)
{
	if (!ref)
		return;
	user_add_extra(user, name_extra, js_str_at(ref, "name"));
	if (*js_str_at(ref, "uid"))
		user_add_extra(user, uid_extra, js_str_at(ref, "uid"));
}

int
tokens_verify(struct tokens *tokens, const char *token, const json_t *audiences,
	      struct user **ret_user, json_t **ret_audiences, struct err *err)
{
	AUTO(js_unref) json_t *claims = claims_of(tokens, token, err);
	AUTO(js_unref) json_t *good = NULL;
	const json_t *own;
	struct user *user;

	if (!claims)
		return -1;
	/* The name of our own claims has dots in it. */
	own = json_object_get(claims, CLAIMS);
	if (strcmp(js_str_at(claims, "iss"), tokens->issuer) != 0)
		return err_set(err, ERR_DENIED, "invalid bearer token");
	if (check_time(claims, err) == -1 ||
	    tokens_audiences(tokens, js_arr_at(claims, "aud"), audiences, &good,
			     err) == -1 ||
	    check_bound(tokens, own, err) == -1)
		return -1;
	user = user_service_account(js_str_at(own, "namespace"),
				    js_str_at(own, "serviceaccount.name"),
				    js_str_at(own, "serviceaccount.uid"));
	add_bound(user, js_obj_at(own, "pod"), EXTRA_POD_NAME, EXTRA_POD_UID);
	add_bound(user, js_obj_at(own, "node"), EXTRA_NODE_NAME,
		  EXTRA_NODE_UID);
	*ret_user = user;
	*ret_audiences = TAKE_PTR(good);
	return 0;
}

/* {"name","uid"} of an object. */
static json_t *
name_and_uid(const struct object *object)
{
	json_t *ref = json_object();

	(void)json_object_set_new(ref, "name", json_string(object->name));
	(void)json_object_set_new(ref, "uid", json_string(object->uid));
	return ref;
}

static int
bind_uid(const json_t *ref, const struct object *object, struct status *st)
{
	const char *uid = js_str_at(ref, "uid");
	const struct gr gr = { "", js_str_at(ref, "kind") };
	AUTO(free_ptr) char *why = NULL;

	if (!*uid || strcmp(uid, object->uid) == 0)
		return 0;
	why = xasprintf("the UID in the bound object reference (%s) does not "
			"match the UID in record. The object might have been "
			"deleted and then recreated",
			uid);
	return status_conflict(st, &gr, object->name, why);
}

/* What a token can be bound to. */
static const struct bindable {
	const char *kind, *resource, *claim;
	bool namespaced;
} bindables[] = {
	{ "Pod", "pods", "pod", true },
	{ "Secret", "secrets", "secret", true },
	{ "Node", "nodes", "node", false },
};

/* NULL when it is none of these. */
static const struct bindable *
bindable_of(const json_t *ref)
{
	if (strcmp(js_str_at(ref, "apiVersion"), "v1") != 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(bindables); i++) {
		if (strcmp(bindables[i].kind, js_str_at(ref, "kind")) == 0)
			return &bindables[i];
	}
	return NULL;
}

/* A pod's token tells where the pod runs, as far as that is known. */
static int
bind_pod(const struct tokens *tokens, const struct object *account,
	 const struct object *pod, json_t *own, struct status *st)
{
	AUTO(js_unref) json_t *json = object_json(pod);
	const char *name = js_str_at(json, "spec.nodeName");
	const struct object *node;

	if (strcmp(js_str_at(json, "spec.serviceAccountName"), account->name) !=
	    0) {
		return status_bad_request(
			st,
			"cannot bind token for serviceaccount \"%s\" to pod "
			"running with different serviceaccount name.",
			account->name);
	}
	if (!*name)
		return 0;
	node = store_get(tokens->nodes, "", name);
	(void)json_object_set_new(own, "node",
				  node ? name_and_uid(node)
				       : json_pack("{s:s}", "name", name));
	return 0;
}

/* Puts what boundObjectRef names into the claims. */
static int
bind_object(const struct tokens *tokens, const struct object *account,
	    const json_t *ref, json_t *own, struct status *st)
{
	const struct bindable *what = bindable_of(ref);
	const char *name = js_str_at(ref, "name");
	const char *version = js_str_at(ref, "apiVersion");
	const struct object *object;

	if (!ref)
		return 0;
	if (!what)
		return status_bad_request(
			st, "cannot bind token to object of type %s%s, Kind=%s",
			strchr(version, '/') ? "" : "/", version,
			js_str_at(ref, "kind"));
	object = store_get(store_collection(tokens->store, "", what->resource),
			   what->namespaced ? account->namespace_ : "", name);
	if (!object) {
		const struct gr gr = { "", what->resource };

		return status_not_found(st, &gr, name);
	}
	if (strcmp(what->kind, "Pod") == 0 &&
	    bind_pod(tokens, account, object, own, st) == -1)
		return -1;
	if (bind_uid(ref, object, st) == -1)
		return -1;
	(void)json_object_set_new(own, what->claim, name_and_uid(object));
	return 0;
}

static int
life_of(const json_t *request, int64_t *ret, struct status *st)
{
	const char *field = "spec.expirationSeconds";
	const json_t *value = js_at(request, field);
	struct causes causes = CAUSES_INIT;
	int result = 0;

	*ret = json_is_integer(value) ? json_integer_value(value)
				      : LIFE_DEFAULT_S;
	if (*ret < LIFE_MIN_S)
		causes_invalid(&causes, field, value,
			       "may not specify a duration less than 10 "
			       "minutes");
	else if (*ret > LIFE_MAX_S)
		causes_invalid(&causes, field, value,
			       "may not specify a duration larger than 2^32 "
			       "seconds");
	if (causes_count(&causes))
		result = status_invalid(st, "authentication.k8s.io",
					"TokenRequest", "", &causes);
	causes_done(&causes);
	return result;
}

static json_t *
make_claims(const struct tokens *tokens, const struct object *account,
	    json_t *audiences, int64_t now, int64_t life)
{
	json_t *claims = json_object();
	json_t *own = json_object();
	AUTO(free_ptr)
	char *subject = xasprintf(USER_SA_PREFIX "%s:%s", account->namespace_,
				  account->name);

	(void)json_object_set(claims, "aud", audiences);
	(void)json_object_set_new(claims, "exp", json_integer(now + life));
	(void)json_object_set_new(claims, "iat", json_integer(now));
	(void)json_object_set_new(claims, "iss", json_string(tokens->issuer));
	(void)json_object_set_new(claims, "nbf", json_integer(now));
	(void)json_object_set_new(claims, "sub", json_string(subject));
	(void)json_object_set_new(claims, CLAIMS, own);
	(void)json_object_set_new(own, "namespace",
				  json_string(account->namespace_));
	(void)json_object_set_new(own, "serviceaccount", name_and_uid(account));
	return claims;
}

static json_t *
make_answer(const struct object *account, const json_t *request,
	    const json_t *claims, int64_t life, const char *token)
{
	json_t *answer = json_object();
	json_t *meta = js_make_obj_at(answer, "metadata");
	json_t *spec = js_make_obj_at(answer, "spec");
	json_t *status = js_make_obj_at(answer, "status");
	json_t *ref = js_obj_at(request, "spec.boundObjectRef");
	char when[TIME_TEXT_SIZE];

	(void)json_object_set_new(answer, "kind", json_string("TokenRequest"));
	(void)json_object_set_new(answer, "apiVersion",
				  json_string("authentication.k8s.io/v1"));
	(void)json_object_set_new(meta, "name", json_string(account->name));
	(void)json_object_set_new(meta, "namespace",
				  json_string(account->namespace_));
	(void)json_object_set_new(meta, "creationTimestamp",
				  json_string(time_now_text(when)));
	(void)json_object_set_new(spec, "audiences",
				  json_deep_copy(js_arr_at(claims, "aud")));
	(void)json_object_set_new(spec, "expirationSeconds",
				  json_integer(life));
	(void)json_object_set_new(spec, "boundObjectRef",
				  ref ? json_deep_copy(ref) : json_null());
	(void)json_object_set_new(status, "token", json_string(token));
	(void)time_text(js_int_at(claims, "exp", 0) * TIME_US_PER_SECOND, when);
	(void)json_object_set_new(status, "expirationTimestamp",
				  json_string(when));
	return answer;
}

int
tokens_request(struct tokens *tokens, const char *ns, const char *name,
	       const json_t *request, json_t **ret, struct status *st)
{
	const struct object *account = store_get(tokens->accounts, ns, name);
	const struct gr gr = { "", "serviceaccounts" };
	json_t *audiences = js_arr_at(request, "spec.audiences");
	int64_t now = time_now_us() / TIME_US_PER_SECOND;
	AUTO(js_unref) json_t *claims = NULL;
	AUTO(free_ptr) char *text = NULL;
	AUTO(free_ptr) char *token = NULL;
	struct err err;
	int64_t life;

	if (!account)
		return status_not_found(st, &gr, name);
	if (life_of(request, &life, st) == -1)
		return -1;
	if (!json_array_size(audiences))
		audiences = tokens->own_audiences;
	claims = make_claims(tokens, account, audiences, now, life);
	if (bind_object(tokens, account,
			js_obj_at(request, "spec.boundObjectRef"),
			json_object_get(claims, CLAIMS), st) == -1)
		return -1;
	text = js_text_sorted(claims, NULL);
	if (strlen(text) > JWT_CLAIMS_MAX)
		return status_bad_request(st, "the token would be too long");
	if (jwt_sign(tokens->key, text, &token, &err) == -1)
		return status_internal(st, "cannot sign the token: %s",
				       err.text);
	*ret = make_answer(account, request, claims, life, token);
	return 0;
}
