/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/manifests.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/embed.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/yaml.h"
#include "webhook/admit.h"
#include "webhook/api.h"
#include "webhook/sub.h"

#define TIMEOUT_S 10
#define SERVICE_PORT 443
#define GROUP_PRIORITY 1000
#define VERSION_PRIORITY 15

/* Made by tools/embed of deploy/kubernetes/ferry-api-rbac.yaml. */
extern const struct embed_file webhook_rbac_files[];

int
manifests_parse_url(const char *url, char **ret_address, uint16_t *ret_port,
		    struct err *err)
{
	const char *prefix = "https://";
	AUTO(free_ptr) char *address = NULL;
	unsigned char binary[sizeof(struct in6_addr)];
	const char *colon, *start;
	uint64_t port;
	bool v6;

	start = str_has_prefix(url, prefix) ? url + strlen(prefix) : url;
	colon = strrchr(start, ':');
	if (start == url || colon == NULL)
		return err_set(err, ERR_INVALID,
			       "'%s' is not https://ADDRESS:PORT", url);
	if (str_to_u64(colon + 1, "the port", 1, UINT16_MAX, &port, err) == -1)
		return -1;
	v6 = start[0] == '[' && colon[-1] == ']';
	address = v6 ? xstrndup(start + 1, (size_t)(colon - start - 2))
		     : xstrndup(start, (size_t)(colon - start));
	if (inet_pton(v6 ? AF_INET6 : AF_INET, address, binary) != 1)
		return err_set(err, ERR_INVALID,
			       "'%s': '%s' is no IP address, which a cluster "
			       "could be led to",
			       url, address);
	*ret_address = TAKE_PTR(address);
	*ret_port = (uint16_t)port;
	return 0;
}

/* "kubevirt" in the file stands for the namespace that is asked for. */
static void
set_namespace(json_t *object, const char *ns)
{
	json_t *subjects = js_arr_at(object, "subjects");
	bool is_ns = strcmp(js_str_at(object, "kind"), "Namespace") == 0;
	json_t *meta = js_make_obj_at(object, "metadata");
	const char *member = is_ns ? "name" : "namespace";
	size_t i;
	json_t *subject;

	if (strcmp(js_str_at(meta, member), API_NAMESPACE) == 0)
		(void)json_object_set_new(meta, member, json_string(ns));
	json_array_foreach(subjects, i, subject)
	{
		if (js_at(subject, "namespace") != NULL)
			(void)json_object_set_new(subject, "namespace",
						  json_string(ns));
	}
}

static int
add_rbac(json_t *list, const struct manifests_config *config, struct err *err)
{
	const struct embed_file *file = &webhook_rbac_files[0];
	AUTO(yaml_docs_unref)
	struct yaml_docs *docs = yaml_docs_new(file->data, file->len);
	json_t *object;
	int more;

	while ((more = yaml_docs_next(docs, &object, err)) == 1) {
		set_namespace(object, config->ns);
		(void)json_array_append_new(list, object);
	}
	return more;
}

static json_t *
object_new(const char *version, const char *kind, const char *ns,
	   const char *name)
{
	json_t *object = json_pack("{s:s, s:s, s:{s:s, s:{s:s}}}", "apiVersion",
				   version, "kind", kind, "metadata", "name",
				   name, "labels", "kubevirt.io", "virt-api");

	if (ns != NULL)
		(void)json_object_set_new(json_object_get(object, "metadata"),
					  "namespace", json_string(ns));
	return object;
}

/* A service without a selector, and by hand where it leads to. */
static void
add_service(json_t *list, const struct manifests_config *config)
{
	json_t *service =
		object_new("v1", "Service", config->ns, config->service);
	json_t *endpoints =
		object_new("v1", "Endpoints", config->ns, config->service);

	(void)json_object_set_new(
		service, "spec",
		json_pack("{s:[{s:s, s:s, s:i, s:i}]}", "ports", "name",
			  "https", "protocol", "TCP", "port", SERVICE_PORT,
			  "targetPort", (int)config->port));
	(void)json_object_set_new(
		endpoints, "subsets",
		json_pack("[{s:[{s:s}], s:[{s:s, s:s, s:i}]}]", "addresses",
			  "ip", config->address, "ports", "name", "https",
			  "protocol", "TCP", "port", (int)config->port));
	(void)json_array_append_new(list, service);
	(void)json_array_append_new(list, endpoints);
}

/* Where the API server sends its questions. */
static json_t *
client_config(const struct manifests_config *config, const char *path,
	      const char *bundle)
{
	AUTO(free_ptr) char *url = NULL;
	bool v6;

	if (config->address == NULL)
		return json_pack("{s:s, s:{s:s, s:s, s:s, s:i}}", "caBundle",
				 bundle, "service", "namespace", config->ns,
				 "name", config->service, "path", path, "port",
				 SERVICE_PORT);
	v6 = strchr(config->address, ':') != NULL;
	url = xasprintf("https://%s%s%s:%u%s", v6 ? "[" : "", config->address,
			v6 ? "]" : "", config->port, path);
	return json_pack("{s:s, s:s}", "caBundle", bundle, "url", url);
}

static json_t *
words(const char *text)
{
	AUTO(free_ptr) char *copy = xstrdup(text);
	json_t *list = json_array();
	char *rest = copy;
	char *word;

	while ((word = strsep(&rest, ",")) != NULL)
		(void)json_array_append_new(list, json_string(word));
	return list;
}

static json_t *
rule_of(const struct admit_route *route, const char *operations)
{
	AUTO(free_ptr)
	char *resource = route->subresource == NULL
				 ? xstrdup(route->resource)
				 : xasprintf("%s/%s", route->resource,
					     route->subresource);
	const char *versions = "v1";

	if (strcmp(route->group, "kubevirt.io") == 0)
		versions = "v1alpha3,v1";
	else if (strcmp(route->group, "migrations.kubevirt.io") == 0 ||
		 strcmp(route->group, "ferry.io") == 0)
		versions = "v1alpha1";
	return json_pack("{s:[s], s:o, s:[s], s:o}", "apiGroups", route->group,
			 "apiVersions", words(versions), "resources", resource,
			 "operations", words(operations));
}

static json_t *
hook_of(const struct admit_route *route, const struct admit_registration *as,
	const struct manifests_config *config, const char *bundle)
{
	json_t *hook = json_pack(
		"{s:s, s:[s], s:s, s:s, s:i, s:o, s:[o]}", "name", as->name,
		"admissionReviewVersions", "v1", "failurePolicy",
		route->shared && !config->match_conditions ? "Ignore" : "Fail",
		"sideEffects", route->writes ? "NoneOnDryRun" : "None",
		"timeoutSeconds", TIMEOUT_S, "clientConfig",
		client_config(config, route->path, bundle), "rules",
		rule_of(route, as->operations));

	if (config->match_conditions && as->match != NULL)
		(void)json_object_set_new(hook, "matchConditions",
					  json_pack("[{s:s, s:s}]", "name",
						    as->match_name,
						    "expression", as->match));
	return hook;
}

/* Several registrations of a path differ by their conditions: without these
 * the same question would be asked twice. */
static void
add_hooks(json_t *hooks, const struct admit_route *route,
	  const struct manifests_config *config, const char *bundle)
{
	size_t max = config->match_conditions ? ADMIT_REGISTRATIONS_MAX : 1;

	for (size_t i = 0; i < max && route->as[i].name != NULL; i++)
		(void)json_array_append_new(
			hooks, hook_of(route, &route->as[i], config, bundle));
}

enum set {
	SET_MUTATING,
	SET_VALIDATING,
	SET_KUBEVIRT, /* apart, as it is the operator's in KubeVirt */
};

static enum set
set_of(const struct admit_route *route)
{
	if (route->mutating)
		return SET_MUTATING;
	return strcmp(route->resource, "kubevirts") == 0 ? SET_KUBEVIRT
							 : SET_VALIDATING;
}

static void
add_webhooks(json_t *list, const struct manifests_config *config,
	     const char *bundle)
{
	static const struct {
		const char *kind, *name;
	} sets[] = {
		[SET_MUTATING] = { "MutatingWebhookConfiguration",
				   "virt-api-mutator" },
		[SET_VALIDATING] = { "ValidatingWebhookConfiguration",
				     "virt-api-validator" },
		[SET_KUBEVIRT] = { "ValidatingWebhookConfiguration",
				   "virt-operator-validator" },
	};

	for (size_t set = 0; set < sizeof(sets) / sizeof(sets[0]); set++) {
		json_t *object =
			object_new("admissionregistration.k8s.io/v1",
				   sets[set].kind, NULL, sets[set].name);
		json_t *hooks = json_array();

		for (size_t i = 0; i < admit_route_count; i++) {
			if (set_of(&admit_routes[i]) == (enum set)set)
				add_hooks(hooks, &admit_routes[i], config,
					  bundle);
		}
		(void)json_object_set_new(object, "webhooks", hooks);
		(void)json_array_append_new(list, object);
	}
}

static void
add_services(json_t *list, const struct manifests_config *config,
	     const char *bundle)
{
	for (size_t i = 0; sub_versions[i] != NULL; i++) {
		AUTO(free_ptr)
		char *name = xasprintf("%s." SUB_GROUP, sub_versions[i]);
		json_t *object = object_new("apiregistration.k8s.io/v1",
					    "APIService", NULL, name);

		(void)json_object_set_new(
			object, "spec",
			json_pack("{s:s, s:s, s:i, s:i, s:s, s:{s:s, s:s, "
				  "s:i}}",
				  "group", SUB_GROUP, "version",
				  sub_versions[i], "groupPriorityMinimum",
				  GROUP_PRIORITY, "versionPriority",
				  VERSION_PRIORITY - (int)i, "caBundle", bundle,
				  "service", "namespace", config->ns, "name",
				  config->service, "port", SERVICE_PORT));
		(void)json_array_append_new(list, object);
	}
}

json_t *
manifests_make(const struct manifests_config *config, struct err *err)
{
	AUTO(free_ptr)
	char *bundle = base64_encode(BASE64_STD, config->ca_pem,
				     strlen(config->ca_pem));
	AUTO(js_unref) json_t *list = json_array();

	if (add_rbac(list, config, err) == -1)
		return NULL;
	if (config->address != NULL)
		add_service(list, config);
	add_services(list, config, bundle);
	add_webhooks(list, config, bundle);
	return TAKE_PTR(list);
}
