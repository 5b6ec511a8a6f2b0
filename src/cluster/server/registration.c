/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/server/registration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/causes.h"
#include "meta/gofmt.h"
#include "meta/names.h"

#define GROUP_PRIORITY_MAX 20000
#define VERSION_PRIORITY_MAX 1000
#define PORT_MAX 65535

#define FIELD_SIZE 128
#define URL_FORM "desired format: https://host[/path]"

/* "webhooks[3].MEMBER" */
struct field {
	char text[FIELD_SIZE];
};

static struct field
field_of(size_t i, const char *member)
{
	struct field field;

	(void)snprintf(field.text, sizeof(field.text), "webhooks[%zu].%s", i,
		       member);
	return field;
}

static void
check_name(const json_t *hook, size_t i, json_t *seen, struct causes *causes)
{
	struct field field = field_of(i, "name");
	const char *name = js_str_at(hook, "name");
	size_t dots = 0;

	for (const char *p = name; *p != '\0'; p++)
		dots += *p == '.';
	if (*name == '\0')
		causes_required(causes, field.text, "");
	else
		name_check_field(NAME_DNS1123_SUBDOMAIN, name, field.text,
				 causes);
	if (*name != '\0' && dots < 2)
		causes_invalid_str(causes, field.text, name,
				   "should be a domain with at least three "
				   "segments separated by dots");
	if (json_object_get(seen, name) != NULL)
		causes_duplicate(causes, field.text,
				 json_object_get(hook, "name"));
	json_object_set_new(seen, name, json_true());
}

static void
check_side_effects(const json_t *hook, size_t i, struct causes *causes)
{
	static const char *const supported[] = { "None", "NoneOnDryRun", NULL };
	struct field field = field_of(i, "sideEffects");
	const char *value = js_str_at(hook, "sideEffects");

	if (*value == '\0')
		causes_required(causes, field.text,
				"must specify one of None, NoneOnDryRun");
	else if (!str_equal(value, supported[0]) &&
		 !str_equal(value, supported[1]))
		causes_not_supported(causes, field.text, value, supported);
}

static void
check_review_versions(const json_t *hook, size_t i, struct causes *causes)
{
	const json_t *versions = js_at(hook, "admissionReviewVersions");
	struct field field = field_of(i, "admissionReviewVersions");
	AUTO(free_ptr) char *shown = NULL;
	const json_t *version;
	size_t k;

	if (json_array_size(versions) == 0) {
		causes_required(causes, field.text,
				"must specify one of v1, v1beta1");
		return;
	}
	json_array_foreach(versions, k, version)
	{
		const char *name = json_string_value(version);

		if (str_equal(name, "v1") || str_equal(name, "v1beta1"))
			return;
	}
	shown = gofmt_strings(versions);
	causes_add_value(causes, CAUSE_INVALID, field.text, shown,
			 "must include at least one of v1, v1beta1");
}

static void
check_url(const char *url, const char *field, struct causes *causes)
{
	static const char scheme[] = "https://";
	const char *host = url + sizeof(scheme) - 1;

	if (!str_has_prefix(url, scheme)) {
		causes_invalid_str(
			causes, field, url,
			"'https' is the only allowed URL scheme; " URL_FORM);
		return;
	}
	if (*host == '\0' || *host == '/')
		causes_invalid_str(causes, field, url,
				   "host must be specified; " URL_FORM);
	if (memchr(host, '@', strcspn(host, "/")) != NULL)
		causes_invalid_str(causes, field, url,
				   "user information is not permitted in the "
				   "URL");
	if (strchr(host, '#') != NULL)
		causes_invalid_str(causes, field, url,
				   "fragments are not permitted in the URL");
	if (strchr(host, '?') != NULL)
		causes_invalid_str(causes, field, url,
				   "query parameters are not permitted in the "
				   "URL");
}

static void
check_client(const json_t *hook, size_t i, struct causes *causes)
{
	struct field field = field_of(i, "clientConfig");
	const json_t *url = js_at(hook, "clientConfig.url");
	const json_t *service = js_at(hook, "clientConfig.service");

	if ((url == NULL) == (service == NULL)) {
		causes_required(causes, field.text,
				"exactly one of url or service is required");
		return;
	}
	if (url != NULL) {
		field = field_of(i, "clientConfig.url");
		check_url(js_str_at(hook, "clientConfig.url"), field.text,
			  causes);
		return;
	}
	field = field_of(i, "clientConfig.service.name");
	if (*js_str_at(service, "name") == '\0')
		causes_required(causes, field.text, "service name is required");
	field = field_of(i, "clientConfig.service.namespace");
	if (*js_str_at(service, "namespace") == '\0')
		causes_required(causes, field.text,
				"service namespace is required");
}

/* Something must be listed, and "*" alone. */
static void
check_rule_list(const json_t *rule, const char *member, const char *prefix,
		struct causes *causes)
{
	const json_t *list = json_object_get(rule, member);
	const json_t *item;
	char field[FIELD_SIZE];
	size_t i;

	(void)snprintf(field, sizeof(field), "%s.%s", prefix, member);
	if (json_array_size(list) == 0) {
		causes_required(causes, field, "");
		return;
	}
	if (json_array_size(list) == 1 || str_equal(member, "resources"))
		return;
	json_array_foreach(list, i, item)
	{
		if (!str_equal(json_string_value(item), "*"))
			continue;
		causes_add(causes, CAUSE_INVALID, field,
			   "if '*' is present, must not specify other %s",
			   str_equal(member, "apiGroups")     ? "API groups"
			   : str_equal(member, "apiVersions") ? "API versions"
							      : member);
		return;
	}
}

static void
check_rules(const json_t *hook, size_t i, struct causes *causes)
{
	static const char *const members[] = { "operations", "apiGroups",
					       "apiVersions", "resources" };
	const json_t *rule;
	size_t k;

	json_array_foreach(js_at(hook, "rules"), k, rule)
	{
		char prefix[FIELD_SIZE / 2];

		(void)snprintf(prefix, sizeof(prefix),
			       "webhooks[%zu].rules[%zu]", i, k);
		for (size_t m = 0; m < ARRAY_LEN(members); m++)
			check_rule_list(rule, members[m], prefix, causes);
	}
}

void
registration_validate_webhooks(const struct strategy_env *env, json_t *object,
			       const json_t *old, struct causes *causes)
{
	AUTO(js_unref) json_t *seen = json_object();
	const json_t *hook;
	size_t i;

	(void)env;
	(void)old;
	json_array_foreach(js_at(object, "webhooks"), i, hook)
	{
		check_name(hook, i, seen, causes);
		check_rules(hook, i, causes);
		check_side_effects(hook, i, causes);
		check_review_versions(hook, i, causes);
		check_client(hook, i, causes);
	}
}

static void
check_priority(const json_t *object, const char *field, int64_t max,
	       struct causes *causes)
{
	int64_t value = js_int_at(object, field, 0);
	AUTO(free_ptr)
	char *text = xasprintf("must be positive and less than %lld",
			       (long long)max);
	AUTO(js_unref) json_t *shown = json_integer(value);

	if (value <= 0 || value > max)
		causes_invalid(causes, field, shown, text);
}

static void
check_service(const json_t *object, struct causes *causes)
{
	static const char *const members[] = { "spec.service.namespace",
					       "spec.service.name" };
	int64_t port = js_int_at(object, "spec.service.port", 1);

	if (js_at(object, "spec.service") == NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (*js_str_at(object, members[i]) == '\0')
			causes_required(causes, members[i], "");
	if (port < 1 || port > PORT_MAX)
		causes_invalid(causes, "spec.service.port",
			       js_at(object, "spec.service.port"),
			       "port is not valid: must be between 1 and "
			       "65535, inclusive");
}

void
registration_validate_apiservice(const struct strategy_env *env, json_t *object,
				 const json_t *old, struct causes *causes)
{
	AUTO(free_ptr)
	char *wanted = xasprintf("%s.%s", js_str_at(object, "spec.version"),
				 js_str_at(object, "spec.group"));
	const char *name = js_str_at(object, "metadata.name");

	(void)env;
	(void)old;
	if (!str_equal(name, wanted)) {
		AUTO(free_ptr)
		char *text = xasprintf("must be `spec.version+\".\"+spec.group"
				       "`: \"%s\"",
				       wanted);

		causes_invalid_str(causes, "metadata.name", name, text);
	}
	check_priority(object, "spec.groupPriorityMinimum", GROUP_PRIORITY_MAX,
		       causes);
	check_priority(object, "spec.versionPriority", VERSION_PRIORITY_MAX,
		       causes);
	check_service(object, causes);
	if (js_bool_at(object, "spec.insecureSkipTLSVerify", false) &&
	    *js_str_at(object, "spec.caBundle") != '\0')
		causes_invalid(causes, "spec.insecureSkipTLSVerify",
			       js_at(object, "spec.insecureSkipTLSVerify"),
			       "may not be true if caBundle is present");
}
