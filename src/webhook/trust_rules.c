/* SPDX-License-Identifier: Apache-2.0 */
/* Who a request says it is from, by the rules of a cluster. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/server.h"
#include "tls/https.h"
#include "webhook/trust.h"

/* The lists stand in the ConfigMap as JSON text. NULL when it is missing. */
static int
read_list(const json_t *data, const char *name, json_t **ret, struct err *err)
{
	const char *text = json_string_value(json_object_get(data, name));
	AUTO(js_unref) json_t *list = NULL;
	size_t i;
	json_t *item;

	if (text == NULL)
		return 0;
	list = js_parse(text, strlen(text), err);
	if (list == NULL)
		return err_prefix(err, "%s", name);
	if (!json_is_array(list) || json_array_size(list) > TRUST_NAMES_MAX)
		return err_set(err, ERR_INVALID,
			       "%s is no list of at most %d names", name,
			       TRUST_NAMES_MAX);
	json_array_foreach(list, i, item)
	{
		if (!json_is_string(item))
			return err_set(err, ERR_INVALID,
				       "%s has an item that is no name", name);
	}
	*ret = TAKE_PTR(list);
	return 0;
}

static int
read_lists(const json_t *data, struct trust_rules *rules, struct err *err)
{
	const struct {
		const char *name;
		json_t **list;
	} lists[] = {
		{ "requestheader-allowed-names", &rules->allowed_names },
		{ "requestheader-username-headers", &rules->user_headers },
		{ "requestheader-uid-headers", &rules->uid_headers },
		{ "requestheader-group-headers", &rules->group_headers },
		{ "requestheader-extra-headers-prefix",
		  &rules->extra_prefixes },
	};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (read_list(data, lists[i].name, lists[i].list, err) == -1)
			return -1;
	}
	return 0;
}

int
trust_rules_read(const json_t *configmap, struct trust_rules *ret,
		 struct err *err)
{
	const json_t *data = js_obj_at(configmap, "data");
	const char *ca = json_string_value(
		json_object_get(data, "requestheader-client-ca-file"));
	struct trust_rules rules = { 0 };

	if (read_lists(data, &rules, err) == -1) {
		trust_rules_done(&rules);
		return -1;
	}
	if (ca != NULL && ca[0] != '\0')
		rules.ca_pem = xstrdup(ca);
	*ret = rules;
	return 0;
}

void
trust_rules_done(struct trust_rules *rules)
{
	free(rules->ca_pem);
	json_decref(rules->allowed_names);
	json_decref(rules->user_headers);
	json_decref(rules->uid_headers);
	json_decref(rules->group_headers);
	json_decref(rules->extra_prefixes);
	*rules = (struct trust_rules){ 0 };
}

/* An empty list allows all that the CA has signed, as in Kubernetes. */
static bool
is_allowed(const struct trust_rules *rules, const struct tls_https_peer *peer)
{
	size_t i;
	json_t *item;

	if (!peer->verified || rules->ca_pem == NULL)
		return false;
	if (json_array_size(rules->allowed_names) == 0)
		return true;
	json_array_foreach(rules->allowed_names, i, item)
	{
		if (strcmp(json_string_value(item), peer->common_name) == 0)
			return true;
	}
	return false;
}

/* The first header of the list that is there; "" for none. */
static const char *
first_of(const json_t *names, const char *otherwise,
	 const struct http_request *req)
{
	const char *value;
	size_t i;
	json_t *item;

	if (names == NULL) {
		value = http_header(req, otherwise);
		return value == NULL ? "" : value;
	}
	json_array_foreach(names, i, item)
	{
		value = http_header(req, json_string_value(item));
		if (value != NULL && value[0] != '\0')
			return value;
	}
	return "";
}

static bool
is_one_of(const json_t *names, const char *otherwise, const char *name)
{
	size_t i;
	json_t *item;

	if (names == NULL)
		return strcasecmp(otherwise, name) == 0;
	json_array_foreach(names, i, item)
	{
		if (strcasecmp(json_string_value(item), name) == 0)
			return true;
	}
	return false;
}

/* Bytes that are no UTF-8 have no place in JSON. */
static json_t *
text_of(const char *value)
{
	AUTO(free_ptr) char *clean = str_to_utf8(value);

	return json_string(clean);
}

static json_t *
groups_of(const struct trust_rules *rules, const struct http_request *req)
{
	json_t *groups = json_array();

	for (size_t i = 0; i < req->header_count; i++) {
		if (json_array_size(groups) < TRUST_GROUPS_MAX &&
		    is_one_of(rules->group_headers, "X-Remote-Group",
			      req->headers[i].name))
			(void)json_array_append_new(
				groups, text_of(req->headers[i].value));
	}
	return groups;
}

/* What is behind the prefix, with %XX undone and in lower case, as the API
 * server encoded it. NULL when it does not begin so. */
static char *
extra_name(const char *header, const char *prefix)
{
	struct buf buf = BUF_INIT(BUF_UNLIMITED);
	size_t len = strlen(prefix);
	AUTO(free_ptr) char *lower = NULL;

	if (strncasecmp(header, prefix, len) != 0 || header[len] == '\0')
		return NULL;
	lower = str_lower(header + len);
	for (const char *c = lower; *c != '\0'; c++) {
		int high = c[0] == '%' ? str_hex_digit(c[1]) : -1;
		int low = high == -1 ? -1 : str_hex_digit(c[2]);
		char byte = *c;

		if (low != -1 && (high != 0 || low != 0)) {
			byte = (char)(high * 16 + low);
			c += 2;
		}
		(void)buf_append(&buf, &byte, 1);
	}
	return (char *)buf.data;
}

static void
add_extra(json_t *extra, const char *name, const char *value)
{
	AUTO(free_ptr) char *clean = str_to_utf8(name);
	json_t *list = json_object_get(extra, clean);

	if (list == NULL) {
		list = json_array();
		(void)json_object_set_new(extra, clean, list);
	}
	(void)json_array_append_new(list, text_of(value));
}

static json_t *
extra_of(const struct trust_rules *rules, const struct http_request *req)
{
	AUTO(js_unref) json_t *own = json_pack("[s]", "X-Remote-Extra-");
	const json_t *prefixes =
		rules->extra_prefixes == NULL ? own : rules->extra_prefixes;
	json_t *extra = json_object();
	size_t k;
	json_t *prefix;

	for (size_t i = 0; i < req->header_count; i++) {
		json_array_foreach(prefixes, k, prefix)
		{
			AUTO(free_ptr)
			char *name = extra_name(req->headers[i].name,
						json_string_value(prefix));

			if (name != NULL)
				add_extra(extra, name, req->headers[i].value);
		}
	}
	return extra;
}

json_t *
trust_rules_user(const struct trust_rules *rules,
		 const struct http_request *req)
{
	const char *name, *uid;
	json_t *user;

	if (!is_allowed(rules, req->peer))
		return NULL;
	name = first_of(rules->user_headers, "X-Remote-User", req);
	if (name[0] == '\0')
		return NULL;
	uid = first_of(rules->uid_headers, "X-Remote-Uid", req);
	user = json_object();
	(void)json_object_set_new(user, "user", text_of(name));
	if (uid[0] != '\0')
		(void)json_object_set_new(user, "uid", text_of(uid));
	(void)json_object_set_new(user, "groups", groups_of(rules, req));
	(void)json_object_set_new(user, "extra", extra_of(rules, req));
	return user;
}
