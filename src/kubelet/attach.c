/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/attach.h"

#include <ctype.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/obj.h"

#define NAME_MAX_LEN 253
#define MAC_LEN 17
#define INDENT 4

static bool
is_mac(const char *text)
{
	if (strlen(text) != MAC_LEN)
		return false;
	for (int i = 0; i < MAC_LEN; i++) {
		if (i % 3 == 2 ? text[i] != ':' : str_hex_digit(text[i]) < 0)
			return false;
	}
	return true;
}

static int
check(const json_t *wanted, const json_t *one, struct err *err)
{
	const char *ifname = js_str_at(one, "ifname");
	const char *mac = js_str_at(one, "mac");

	if (!str_is_name(js_str_at(one, "name"), NAME_MAX_LEN) ||
	    !str_is_name(js_str_at(one, "namespace"), NAME_MAX_LEN))
		return err_set(err, ERR_INVALID,
			       ATTACH_NETWORKS ": '%s/%s' is not a network",
			       js_str_at(one, "namespace"),
			       js_str_at(one, "name"));
	if (!str_is_name(ifname, IFNAMSIZ - 1) || str_equal(ifname, "lo") ||
	    str_equal(ifname, ATTACH_DEFAULT_IFNAME))
		return err_set(err, ERR_INVALID,
			       ATTACH_NETWORKS ": interface '%s' cannot be had",
			       ifname);
	if (js_find(wanted, "ifname", ifname) != NULL)
		return err_set(err, ERR_INVALID,
			       ATTACH_NETWORKS
			       ": interface '%s' is there twice",
			       ifname);
	if (*mac != '\0' && !is_mac(mac))
		return err_set(err, ERR_INVALID,
			       ATTACH_NETWORKS ": '%s' is not a MAC address",
			       mac);
	return 0;
}

/* Takes one. */
static int
add(json_t *wanted, json_t *one, struct err *err)
{
	size_t n = json_array_size(wanted);
	int r = 0;

	if (n >= ATTACH_MAX)
		r = err_set(err, ERR_LIMIT,
			    ATTACH_NETWORKS ": more than %d networks",
			    ATTACH_MAX);
	if (*js_str_at(one, "ifname") == '\0')
		(void)json_object_set_new(one, "ifname",
					  json_sprintf("net%zu", n + 1));
	if (r == 0)
		r = check(wanted, one, err);
	if (r == 0)
		r = json_array_append(wanted, one);
	json_decref(one);
	return r;
}

static const char *
or_text(const char *text, const char *otherwise)
{
	return *text == '\0' ? otherwise : text;
}

static int
add_json(json_t *wanted, const char *text, const char *ns, struct err *err)
{
	AUTO(js_unref) json_t *list = js_parse(text, strlen(text), err);
	const json_t *one;
	size_t i;

	if (list == NULL)
		return err_prefix(err, ATTACH_NETWORKS);
	json_array_foreach(list, i, one)
	{
		if (add(wanted,
			json_pack("{s:s, s:s, s:s, s:s}", "name",
				  js_str_at(one, "name"), "namespace",
				  or_text(js_str_at(one, "namespace"), ns),
				  "ifname", js_str_at(one, "interface"), "mac",
				  js_str_at(one, "mac")),
			err) == -1)
			return -1;
	}
	return 0;
}

static int
add_short(json_t *wanted, const char *text, const char *ns, struct err *err)
{
	AUTO(free_ptr) char *copy = xstrdup(text);
	char *save = NULL;

	for (char *part = strtok_r(copy, ", \t\n", &save); part != NULL;
	     part = strtok_r(NULL, ", \t\n", &save)) {
		char *at = strchr(part, '@');
		char *slash;

		if (at != NULL)
			*at++ = '\0';
		slash = strchr(part, '/');
		if (slash != NULL)
			*slash++ = '\0';
		if (add(wanted,
			json_pack("{s:s, s:s, s:s, s:s}", "name",
				  slash == NULL ? part : slash, "namespace",
				  slash == NULL ? ns : part, "ifname",
				  at == NULL ? "" : at, "mac", ""),
			err) == -1)
			return -1;
	}
	return 0;
}

json_t *
attach_wanted(const json_t *pod, struct err *err)
{
	AUTO(js_unref) json_t *wanted = json_array();
	const char *text = obj_annotation(pod, ATTACH_NETWORKS);

	if (text == NULL)
		return TAKE_PTR(wanted);
	if (strlen(text) > ATTACH_ANNOTATION_MAX) {
		(void)err_set(err, ERR_LIMIT,
			      ATTACH_NETWORKS ": longer than %d bytes",
			      ATTACH_ANNOTATION_MAX);
		return NULL;
	}
	while (isspace((unsigned char)*text))
		text++;
	if ((*text == '[' ? add_json : add_short)(wanted, text, obj_ns(pod),
						  err) == -1)
		return NULL;
	return TAKE_PTR(wanted);
}

/* The index of the pod's end of the interface; -1: the result has none. */
static long
find_interface(const json_t *result, const char *ifname)
{
	const json_t *interface;
	size_t i;

	json_array_foreach(js_arr_at(result, "interfaces"), i, interface)
	{
		if (*js_str_at(interface, "sandbox") != '\0' &&
		    str_equal(js_str_at(interface, "name"), ifname))
			return (long)i;
	}
	return -1;
}

json_t *
attach_ips(const json_t *result, const char *ifname)
{
	json_t *ips = json_array();
	long index = find_interface(result, ifname);
	const json_t *ip;
	size_t i;

	json_array_foreach(js_arr_at(result, "ips"), i, ip)
	{
		const char *address = js_str_at(ip, "address");
		int64_t of = js_int_at(ip, "interface", index);

		if (of != index)
			continue;
		(void)json_array_append_new(
			ips, json_stringn(address, strcspn(address, "/")));
	}
	return ips;
}

static json_t *
status_of(const json_t *attachment)
{
	const char *ifname = js_str_at(attachment, "ifname");
	const json_t *result = js_obj_at(attachment, "result");
	const json_t *interface =
		json_array_get(js_arr_at(result, "interfaces"),
			       (size_t)find_interface(result, ifname));
	json_t *dns = js_obj_at(result, "dns");
	json_t *ips = attach_ips(result, ifname);
	json_t *status = json_pack("{s:s, s:s}", "name",
				   js_str_at(attachment, "network"),
				   "interface", ifname);

	if (json_array_size(ips) > 0)
		(void)json_object_set(status, "ips", ips);
	json_decref(ips);
	if (*js_str_at(interface, "mac") != '\0')
		(void)json_object_set(status, "mac",
				      json_object_get(interface, "mac"));
	if (js_bool_at(attachment, "default", false))
		(void)json_object_set_new(status, "default", json_true());
	(void)json_object_set_new(
		status, "dns", dns == NULL ? json_object() : json_incref(dns));
	return status;
}

char *
attach_status(const json_t *attachments)
{
	AUTO(js_unref) json_t *all = json_array();
	const json_t *attachment;
	size_t i;

	json_array_foreach(attachments, i, attachment)
	{
		(void)json_array_append_new(all, status_of(attachment));
	}
	return json_dumps(all, JSON_INDENT(INDENT));
}
