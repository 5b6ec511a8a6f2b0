/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/registration.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission.h"
#include "cluster/admit/service.h"
#include "cluster/kinds/kind.h"
#include "meta/causes.h"
#include "meta/gofmt.h"
#include "meta/names.h"
#include "meta/status.h"

#define HOOK_GROUP "admissionregistration.k8s.io"
#define API_GROUP "apiregistration.k8s.io"
#define URL_FORM "; desired format: https://host[/path]"
#define FIELD_SIZE 128
#define GROUP_PRIORITY_MAX 20000
#define VERSION_PRIORITY_MAX 1000

/* "BASE.NAME" into a field of FIELD_SIZE. */
static const char *
field(char buf[FIELD_SIZE], const char *base, const char *name)
{
	(void)snprintf(buf, FIELD_SIZE, "%s.%s", base, name);
	return buf;
}

/* Three names at least: the domain of who made it, and its own. */
static bool
is_full_name(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot != NULL && strchr(dot + 1, '.') != NULL;
}

static void
check_name(const char *name, const char *base, struct causes *causes)
{
	char path[FIELD_SIZE];

	(void)field(path, base, "name");
	if (*name == '\0')
		causes_required(causes, path, "");
	else if (!name_ok(NAME_DNS1123_SUBDOMAIN, name))
		name_check_field(NAME_DNS1123_SUBDOMAIN, name, path, causes);
	else if (!is_full_name(name))
		causes_invalid_str(causes, path, name,
				   "should be a domain with at least three "
				   "segments separated by dots");
}

static void
check_url(const char *url, const char *path, struct causes *causes)
{
	static const char https[] = "https://";
	const char *scheme_end = strchr(url, ':');
	AUTO(free_ptr)
	char *scheme = xstrndup(
		url, scheme_end != NULL ? (size_t)(scheme_end - url) : 0);
	const char *host = url + strlen(https);
	size_t host_len;

	if (!str_equal(scheme, "https") || !str_has_prefix(url, https)) {
		causes_invalid_str(causes, path, scheme,
				   "'https' is the only allowed URL "
				   "scheme" URL_FORM);
		return;
	}
	host_len = strcspn(host, "/?#");
	if (host_len == 0)
		causes_invalid_str(causes, path, "",
				   "host must be specified" URL_FORM);
	if (memchr(host, '@', host_len) != NULL)
		causes_invalid_str(causes, path, url,
				   "user information is not permitted in the "
				   "URL" URL_FORM);
	if (strchr(host, '#') != NULL)
		causes_invalid_str(causes, path, strchr(host, '#') + 1,
				   "fragments are not permitted in the "
				   "URL" URL_FORM);
	else if (strchr(host, '?') != NULL)
		causes_invalid_str(causes, path, strchr(host, '?') + 1,
				   "query parameters are not permitted in the "
				   "URL" URL_FORM);
}

static void
check_service(const json_t *service, const char *base, struct causes *causes)
{
	int64_t port = js_int_at(service, "port", 1);
	char path[FIELD_SIZE], number[32];

	if (*js_str_at(service, "name") == '\0')
		causes_required(causes, field(path, base, "name"),
				"service name is required");
	if (*js_str_at(service, "namespace") == '\0')
		causes_required(causes, field(path, base, "namespace"),
				"service namespace is required");
	if (port >= 1 && port <= UINT16_MAX)
		return;
	(void)snprintf(number, sizeof(number), "%" PRId64, port);
	causes_add_value(causes, CAUSE_INVALID, field(path, base, "port"),
			 number,
			 "port is not valid: must be between 1 and 65535, "
			 "inclusive");
}

/* What is there must be PEM text in base64; who has none trusts the system. */
static void
check_bundle(const json_t *config, const char *base, struct causes *causes)
{
	AUTO(free_ptr) char *pem = service_bundle(config);
	char path[FIELD_SIZE];

	if (*js_str_at(config, "caBundle") == '\0' ||
	    (pem != NULL && strstr(pem, "-----BEGIN CERTIFICATE-----") != NULL))
		return;
	causes_invalid_str(causes, field(path, base, "caBundle"),
			   js_str_at(config, "caBundle"),
			   "unable to load root certificates: unable to parse "
			   "bytes as PEM block");
}

static void
check_client(const json_t *client, const char *base, struct causes *causes)
{
	const json_t *url = js_at(client, "url");
	const json_t *service = js_obj_at(client, "service");
	char path[FIELD_SIZE];

	if ((url == NULL) == (service == NULL))
		causes_required(causes, base,
				"exactly one of url or service is required");
	else if (url != NULL)
		check_url(js_str_at(client, "url"), field(path, base, "url"),
			  causes);
	else
		check_service(service, field(path, base, "service"), causes);
	check_bundle(client, base, causes);
}

static void
check_reviews(const json_t *hook, const char *base, struct causes *causes)
{
	const json_t *versions = js_arr_at(hook, "admissionReviewVersions");
	const json_t *item;
	AUTO(free_ptr) char *list = NULL;
	char path[FIELD_SIZE];
	size_t i;

	(void)field(path, base, "admissionReviewVersions");
	if (json_array_size(versions) == 0) {
		causes_required(causes, path,
				"must specify one of v1, v1beta1");
		return;
	}
	json_array_foreach(versions, i, item)
	{
		if (str_equal(json_string_value(item), "v1") ||
		    str_equal(json_string_value(item), "v1beta1"))
			return;
	}
	list = gofmt_strings(versions);
	causes_add_value(causes, CAUSE_INVALID, path, list,
			 "must include at least one of v1, v1beta1");
}

static void
check_effects(const json_t *hook, const char *base, struct causes *causes)
{
	static const char *const allowed[] = { "None", "NoneOnDryRun", NULL };
	const char *effects = js_str_at(hook, "sideEffects");
	char path[FIELD_SIZE];

	if (!str_equal(effects, allowed[0]) && !str_equal(effects, allowed[1]))
		causes_not_supported(causes, field(path, base, "sideEffects"),
				     effects, allowed);
}

/* "*" stands for all, so nothing else may stand beside it. */
static void
check_list(const json_t *rule, const char *name, const char *base,
	   const char *others, struct causes *causes)
{
	const json_t *list = js_arr_at(rule, name), *item;
	AUTO(free_ptr)
	char *message = xasprintf(
		"if '*' is present, must not specify other %s", others);
	AUTO(free_ptr) char *text = NULL;
	char path[FIELD_SIZE];
	size_t i;

	(void)field(path, base, name);
	if (json_array_size(list) == 0) {
		causes_required(causes, path, "");
		return;
	}
	json_array_foreach(list, i, item)
	{
		if (json_array_size(list) == 1 ||
		    !str_equal(json_string_value(item), "*"))
			continue;
		text = gofmt_strings(list);
		causes_add_value(causes, CAUSE_INVALID, path, text, message);
		return;
	}
}

static void
check_operations(const json_t *rule, const char *base, struct causes *causes)
{
	static const char *const known[] = { "*",      "CONNECT", "CREATE",
					     "DELETE", "UPDATE",  NULL };
	const json_t *item;
	char path[FIELD_SIZE];
	size_t i, k;

	check_list(rule, "operations", base, "operations", causes);
	json_array_foreach(js_arr_at(rule, "operations"), i, item)
	{
		const char *op = json_string_value(item);

		for (k = 0; known[k] != NULL && !str_equal(known[k], op); k++)
			;
		(void)snprintf(path, sizeof(path), "%s.operations[%zu]", base,
			       i);
		if (known[k] == NULL)
			causes_not_supported(causes, path, op != NULL ? op : "",
					     known);
	}
}

static void
check_rules(const json_t *hook, const char *base, struct causes *causes)
{
	const json_t *rule;
	char path[FIELD_SIZE];
	size_t i;

	json_array_foreach(js_arr_at(hook, "rules"), i, rule)
	{
		(void)snprintf(path, sizeof(path), "%s.rules[%zu]", base, i);
		check_operations(rule, path, causes);
		check_list(rule, "apiGroups", path, "API groups", causes);
		check_list(rule, "apiVersions", path, "API versions", causes);
		if (json_array_size(js_arr_at(rule, "resources")) == 0) {
			char list[FIELD_SIZE];

			causes_required(causes, field(list, path, "resources"),
					"");
		}
	}
}

static void
check_hook(const json_t *hook, const char *base, struct causes *causes)
{
	char path[FIELD_SIZE];

	check_name(js_str_at(hook, "name"), base, causes);
	check_rules(hook, base, causes);
	check_effects(hook, base, causes);
	check_reviews(hook, base, causes);
	if (json_array_size(js_arr_at(hook, "matchConditions")) > 0)
		causes_forbidden(causes, field(path, base, "matchConditions"),
				 "match conditions are not supported by this "
				 "server");
	check_client(js_obj_at(hook, "clientConfig"),
		     field(path, base, "clientConfig"), causes);
}

static void
check_hooks(const json_t *obj, struct causes *causes)
{
	AUTO(js_unref) json_t *names = json_object();
	const json_t *hook;
	size_t i;

	json_array_foreach(js_arr_at(obj, "webhooks"), i, hook)
	{
		json_t *name = js_at(hook, "name");
		char base[FIELD_SIZE], path[FIELD_SIZE];

		(void)snprintf(base, sizeof(base), "webhooks[%zu]", i);
		check_hook(hook, base, causes);
		if (!json_is_string(name))
			continue;
		if (json_object_get(names, json_string_value(name)) != NULL)
			causes_duplicate(causes, field(path, base, "name"),
					 name);
		(void)json_object_set_new(names, json_string_value(name),
					  json_true());
	}
}

static void
check_priority(const json_t *spec, const char *name, int64_t max,
	       struct causes *causes)
{
	int64_t value = js_int_at(spec, name, 0);
	char path[FIELD_SIZE], number[32], message[64];

	if (value > 0 && value <= max)
		return;
	(void)snprintf(number, sizeof(number), "%" PRId64, value);
	(void)snprintf(message, sizeof(message),
		       "must be positive and less than %" PRId64, max);
	causes_add_value(causes, CAUSE_INVALID, field(path, "spec", name),
			 number, message);
}

static void
check_apiservice(const json_t *obj, struct causes *causes)
{
	const json_t *spec = js_obj_at(obj, "spec");
	const json_t *service = js_obj_at(spec, "service");
	bool insecure = js_bool_at(spec, "insecureSkipTLSVerify", false);
	AUTO(free_ptr)
	char *name = xasprintf("%s.%s", js_str_at(spec, "version"),
			       js_str_at(spec, "group"));
	AUTO(free_ptr)
	char *message = xasprintf(
		"must be `spec.version+\".\"+spec.group`: \"%s\"", name);

	if (!str_equal(js_str_at(obj, "metadata.name"), name))
		causes_invalid_str(causes, "metadata.name",
				   js_str_at(obj, "metadata.name"), message);
	check_priority(spec, "groupPriorityMinimum", GROUP_PRIORITY_MAX,
		       causes);
	check_priority(spec, "versionPriority", VERSION_PRIORITY_MAX, causes);
	if (service == NULL)
		return;
	check_service(service, "spec.service", causes);
	check_bundle(spec, "spec", causes);
	if (insecure && *js_str_at(spec, "caBundle") != '\0')
		causes_add_value(causes, CAUSE_INVALID,
				 "spec.insecureSkipTLSVerify", "true",
				 "may not be true if caBundle is present");
}

bool
registration_concerns(const struct admission_request *req)
{
	return (req->op == ADMISSION_CREATE || req->op == ADMISSION_UPDATE) &&
	       *req->subresource == '\0' &&
	       (str_equal(req->kind->group, HOOK_GROUP) ||
		str_equal(req->kind->group, API_GROUP));
}

int
registration_check(const struct admission_request *req, struct status *st)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;

	if (str_equal(req->kind->group, HOOK_GROUP))
		check_hooks(req->object, &causes);
	else
		check_apiservice(req->object, &causes);
	if (causes_count(&causes) == 0)
		return 0;
	return status_invalid(st, req->kind->group, req->kind->kind, req->name,
			      &causes);
}
