/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/env.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/obj.h"
#include "kubelet/podrefs.h"
#include "meta/quantity.h"

#define VALUE_MAX (1024UL * 1024)

/* Of "metadata.labels['KEY']" the KEY; NULL when it is something else. */
static char *
subscript(const char *path, const char *prefix)
{
	size_t n = strlen(prefix), len = strlen(path);

	if (!str_has_prefix(path, prefix) || len < n + 4 || path[n] != '[' ||
	    path[n + 1] != '\'' || !str_has_suffix(path, "']"))
		return NULL;
	return xstrndup(path + n + 2, len - n - 4);
}

static char *
all_of(const json_t *map)
{
	AUTO(buf_done) struct buf text = BUF_INIT(VALUE_MAX);
	AUTO(js_unref) json_t *sorted = NULL;
	AUTO(free_ptr) char *order = NULL;
	const json_t *value;
	const char *key;
	struct err ignored;
	size_t len = 0;

	if (map == NULL)
		return xstrdup("");
	/* In order of the names. */
	order = js_text_sorted(map, &len);
	sorted = js_parse(order, len, &ignored);
	json_object_foreach(sorted, key, value)
	{
		AUTO(free_ptr) char *quoted = js_text_sorted(value, NULL);

		(void)buf_printf(&text, "%s%s=%s", text.len > 0 ? "\n" : "",
				 key, quoted);
	}
	return xstrdup(text.data == NULL ? "" : (const char *)text.data);
}

static char *
labelled(const json_t *pod, const char *path)
{
	AUTO(free_ptr) char *key = subscript(path, "metadata.labels");
	const char *value;

	if (key != NULL) {
		value = obj_label(pod, key);
		return xstrdup(value == NULL ? "" : value);
	}
	key = subscript(path, "metadata.annotations");
	if (key != NULL) {
		value = obj_annotation(pod, key);
		return xstrdup(value == NULL ? "" : value);
	}
	if (str_equal(path, "metadata.labels") ||
	    str_equal(path, "metadata.annotations"))
		return all_of(js_obj_at(pod, path));
	return NULL;
}

char *
env_field(const json_t *pod, const struct env_facts *facts, const char *path,
	  struct err *err)
{
	static const char *const plain[] = { "metadata.name",
					     "metadata.namespace",
					     "metadata.uid",
					     "spec.serviceAccountName" };
	const struct {
		const char *path;
		const char *value;
	} known[] = {
		{ "spec.nodeName", facts->node_name },
		{ "status.hostIP", facts->host_ip },
		{ "status.hostIPs", facts->host_ip },
		{ "status.podIP", facts->pod_ip },
		{ "status.podIPs", facts->pod_ip },
	};
	char *value = labelled(pod, path);

	if (value != NULL)
		return value;
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		if (str_equal(path, plain[i]))
			return xstrdup(js_str_at(pod, path));
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(path, known[i].path))
			return xstrdup(known[i].value);
	}
	(void)err_set(err, ERR_INVALID, "fieldPath '%s' is not known", path);
	return NULL;
}

char *
env_resource(const json_t *container, const char *resource, const char *divisor,
	     struct err *err)
{
	const json_t *values = js_obj_at(container, "resources");
	const char *dot = strchr(resource, '.');
	AUTO(free_ptr) char *which = NULL;
	struct quantity amount = QUANTITY_ZERO, unit;
	const char *text = NULL;

	if (dot == NULL)
		goto unknown;
	which = xstrndup(resource, (size_t)(dot - resource));
	text = json_string_value(
		json_object_get(json_object_get(values, which), dot + 1));
	if (text != NULL && quantity_parse(text, &amount, err) == -1)
		return NULL;
	if (quantity_parse(
		    *divisor == '\0' || str_equal(divisor, "0") ? "1" : divisor,
		    &unit, err) == -1 ||
	    quantity_sign(&unit) <= 0)
		goto unknown;
	return xasprintf("%" PRId64,
			 (int64_t)((amount.nano + unit.nano - 1) / unit.nano));
unknown:
	(void)err_set(err, ERR_INVALID, "resource '%s' is not known", resource);
	return NULL;
}

/* The value of a variable that was set before; NULL: there is none. */
static const char *
lookup(const json_t *env, const char *name, size_t len)
{
	for (size_t i = json_array_size(env); i > 0; i--) {
		const char *entry =
			json_string_value(json_array_get(env, i - 1));

		if (strncmp(entry, name, len) == 0 && entry[len] == '=')
			return entry + len + 1;
	}
	return NULL;
}

char *
env_expand(const json_t *env, const char *text)
{
	AUTO(buf_done) struct buf out = BUF_INIT(VALUE_MAX);

	while (*text != '\0') {
		const char *end;
		const char *value = NULL;

		if (text[0] == '$' && text[1] == '$') {
			(void)buf_append(&out, "$", 1);
			text += 2;
			continue;
		}
		end = text[0] == '$' && text[1] == '(' ? strchr(text, ')')
						       : NULL;
		if (end != NULL)
			value = lookup(env, text + 2, (size_t)(end - text - 2));
		if (value != NULL) {
			(void)buf_append_str(&out, value);
			text = end + 1;
		} else {
			(void)buf_append(&out, text++, 1);
		}
	}
	return xstrdup(out.data == NULL ? "" : (const char *)out.data);
}

static void
set(json_t *env, const char *name, const char *value)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < json_array_size(env); i++) {
		const char *entry = json_string_value(json_array_get(env, i));

		if (strncmp(entry, name, len) == 0 && entry[len] == '=') {
			(void)json_array_remove(env, i);
			break;
		}
	}
	(void)json_array_append_new(env, json_sprintf("%s=%s", name, value));
}

/* A Secret's value as text; NULL for what cannot be in an environment. */
static char *
decode(const char *text)
{
	AUTO(free_ptr) uint8_t *data = NULL;
	struct err ignored;
	size_t len;

	if (base64_decode(BASE64_STD, text, strlen(text), &data, &len,
			  &ignored) == -1 ||
	    memchr(data, '\0', len) != NULL)
		return NULL;
	return xstrdup((const char *)data);
}

static void
set_all(json_t *env, const json_t *object, bool secret, const char *prefix)
{
	const json_t *value;
	const char *key;

	json_object_foreach(js_obj_at(object, "data"), key, value)
	{
		AUTO(free_ptr) char *name = xasprintf("%s%s", prefix, key);
		AUTO(free_ptr)
		char *text = secret ? decode(json_string_value(value))
				    : xstrdup(json_string_value(value));

		if (text != NULL)
			set(env, name, text);
	}
}

static void
set_from(json_t *env, const json_t *from, const json_t *have)
{
	const char *prefix = js_str_at(from, "prefix");

	set_all(env,
		podrefs_get(have, "configmaps",
			    js_str_at(from, "configMapRef.name")),
		false, prefix);
	set_all(env,
		podrefs_get(have, "secrets", js_str_at(from, "secretRef.name")),
		true, prefix);
}

/* A key of a ConfigMap or Secret. 1: it may be missing, and is. */
static int
key_value(const json_t *ref, const char *plural, const json_t *have, char **ret,
	  struct err *err)
{
	const char *name = js_str_at(ref, "name"), *key = js_str_at(ref, "key");
	const json_t *object = podrefs_get(have, plural, name);
	const char *text = json_string_value(
		json_object_get(js_obj_at(object, "data"), key));

	if (text != NULL)
		*ret = str_equal(plural, "secrets") ? decode(text)
						    : xstrdup(text);
	if (*ret != NULL)
		return 0;
	if (js_bool_at(ref, "optional", false))
		return 1;
	return err_set(err, ERR_NOT_FOUND, "couldn't find key %s in %s %s", key,
		       plural, name);
}

/* What values come from. */
struct sources {
	const json_t *pod, *container, *have;
	const struct env_facts *facts;
};

/* 1: there is no value, and none is needed. */
static int
value_from(const struct sources *sources, const json_t *from, char **ret,
	   struct err *err)
{
	const json_t *have = sources->have;
	const json_t *ref;

	if ((ref = js_obj_at(from, "configMapKeyRef")) != NULL)
		return key_value(ref, "configmaps", have, ret, err);
	if ((ref = js_obj_at(from, "secretKeyRef")) != NULL)
		return key_value(ref, "secrets", have, ret, err);
	if ((ref = js_obj_at(from, "fieldRef")) != NULL)
		*ret = env_field(sources->pod, sources->facts,
				 js_str_at(ref, "fieldPath"), err);
	else if ((ref = js_obj_at(from, "resourceFieldRef")) != NULL)
		*ret = env_resource(sources->container,
				    js_str_at(ref, "resource"),
				    js_str_at(ref, "divisor"), err);
	else
		return 1;
	return *ret == NULL ? -1 : 0;
}

json_t *
env_make(const json_t *pod, const json_t *container, const json_t *image,
	 const json_t *have, const struct env_facts *facts, struct err *err)
{
	AUTO(js_unref)
	json_t *env = json_pack(
		"[s]", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
		       "/sbin:/bin");
	const struct sources sources = {
		.pod = pod, .container = container, .have = have, .facts = facts
	};
	const char *hostname = js_str_at(pod, "spec.hostname");
	const json_t *one;
	size_t i;

	set(env, "HOSTNAME", *hostname == '\0' ? obj_name(pod) : hostname);
	json_array_foreach(js_arr_at(image, "env"), i, one)
	{
		if (json_is_string(one))
			(void)json_array_append(env, (json_t *)(uintptr_t)one);
	}
	json_array_foreach(js_arr_at(container, "envFrom"), i, one)
		set_from(env, one, have);
	json_array_foreach(js_arr_at(container, "env"), i, one)
	{
		AUTO(free_ptr) char *value = NULL;
		const json_t *from = js_obj_at(one, "valueFrom");
		int r = 0;

		if (from == NULL)
			value = env_expand(env, js_str_at(one, "value"));
		else
			r = value_from(&sources, from, &value, err);
		if (r == -1)
			return NULL;
		if (r == 0)
			set(env, js_str_at(one, "name"), value);
	}
	return TAKE_PTR(env);
}
