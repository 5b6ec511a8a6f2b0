/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/manifests.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "webhook/admit.h"

static json_t *
find(const json_t *list, const char *kind, const char *name)
{
	size_t i;
	json_t *object;

	json_array_foreach(list, i, object)
	{
		if (strcmp(js_str_at(object, "kind"), kind) == 0 &&
		    strcmp(js_str_at(object, "metadata.name"), name) == 0)
			return object;
	}
	fail_msg("there is no %s %s", kind, name);
	return NULL;
}

/* The hook of that name, in any of the configurations. */
static const json_t *
find_hook(const json_t *list, const char *name)
{
	size_t i;
	json_t *object;

	json_array_foreach(list, i, object)
	{
		const json_t *hook =
			js_find(js_arr_at(object, "webhooks"), "name", name);

		if (hook != NULL)
			return hook;
	}
	return NULL;
}

static void
test_every_route_is_registered_with_its_path(void **state)
{
	const struct manifests_config config = {
		.ns = "there",
		.service = "svc",
		.ca_pem = "PEM",
		.match_conditions = true,
	};
	struct err err;
	AUTO(js_unref) json_t *list = manifests_make(&config, &err);

	(void)state;
	assert_non_null(list);
	for (size_t i = 0; i < admit_route_count; i++) {
		const struct admit_route *route = &admit_routes[i];

		for (size_t k = 0;
		     k < ADMIT_REGISTRATIONS_MAX && route->as[k].name != NULL;
		     k++) {
			const json_t *hook = find_hook(list, route->as[k].name);

			assert_non_null(hook);
			assert_string_equal(
				js_str_at(hook, "clientConfig.service.path"),
				route->path);
			assert_string_equal(
				js_str_at(hook,
					  "clientConfig.service.namespace"),
				"there");
			assert_string_equal(js_str_at(hook, "failurePolicy"),
					    "Fail");
			assert_int_equal(js_at(hook, "matchConditions") != NULL,
					 route->as[k].match != NULL);
		}
	}
}

static void
test_the_namespace_is_the_one_asked_for(void **state)
{
	const struct manifests_config config = {
		.ns = "there",
		.service = "svc",
		.ca_pem = "PEM",
	};
	struct err err;
	AUTO(js_unref) json_t *list = manifests_make(&config, &err);
	const json_t *binding;

	(void)state;
	(void)find(list, "Namespace", "there");
	assert_string_equal(
		js_str_at(find(list, "ServiceAccount", "kubevirt-api"),
			  "metadata.namespace"),
		"there");
	binding = find(list, "RoleBinding", "kubevirt-api");
	assert_string_equal(js_str_at(binding, "metadata.namespace"),
			    "kube-system");
	assert_string_equal(
		js_str_at(json_array_get(js_arr_at(binding, "subjects"), 0),
			  "namespace"),
		"there");
	/* Everybody writes to nodes: without conditions nobody may be stopped
	 * by a server that is away. */
	assert_string_equal(
		js_str_at(find_hook(list, "nodes-validator.ferry.io"),
			  "failurePolicy"),
		"Ignore");
	/* One question for each eviction, where nothing sets them apart. */
	assert_null(find_hook(list,
			      "hotplug-pod-eviction-interceptor.kubevirt.io"));
}

static void
test_a_server_outside_gets_a_service_that_leads_to_it(void **state)
{
	const struct manifests_config config = {
		.ns = "there",
		.service = "svc",
		.address = "2001:db8::1",
		.port = 4711,
		.ca_pem = "PEM",
	};
	struct err err;
	AUTO(js_unref) json_t *list = manifests_make(&config, &err);
	const json_t *subset, *hook;

	(void)state;
	(void)find(list, "Service", "svc");
	subset = json_array_get(
		js_arr_at(find(list, "Endpoints", "svc"), "subsets"), 0);
	assert_string_equal(
		js_str_at(json_array_get(js_arr_at(subset, "addresses"), 0),
			  "ip"),
		"2001:db8::1");
	hook = find_hook(list, "migrations-mutator.kubevirt.io");
	assert_string_equal(
		js_str_at(hook, "clientConfig.url"),
		"https://[2001:db8::1]:4711/migration-mutate-create");
	(void)find(list, "APIService", "v1.subresources.kubevirt.io");
	(void)find(list, "APIService", "v1alpha3.subresources.kubevirt.io");
}

static void
test_urls_are_addresses_and_ports(void **state)
{
	static const struct {
		const char *url, *address;
		uint16_t port;
	} good[] = {
		{ "https://192.0.2.1:443", "192.0.2.1", 443 },
		{ "https://[::1]:65535", "::1", 65535 },
	};
	static const char *const bad[] = {
		"",
		"https://",
		"https://:443",
		"https://192.0.2.1",
		"http://192.0.2.1:443",
		"192.0.2.1:443",
		"https://host.example:443",
		"https://192.0.2.1:0",
		"https://192.0.2.1:65536",
		"https://192.0.2.1:443/",
		"https://[::1:443",
		"https://[]:443",
		"https://::1:443",
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		AUTO(free_ptr) char *address = NULL;
		uint16_t port;

		assert_int_equal(
			manifests_parse_url(good[i].url, &address, &port, &err),
			0);
		assert_string_equal(address, good[i].address);
		assert_int_equal(port, good[i].port);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char *address = NULL;
		uint16_t port;

		assert_int_equal(
			manifests_parse_url(bad[i], &address, &port, &err), -1);
		assert_null(address);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_route_is_registered_with_its_path),
		cmocka_unit_test(test_the_namespace_is_the_one_asked_for),
		cmocka_unit_test(
			test_a_server_outside_gets_a_service_that_leads_to_it),
		cmocka_unit_test(test_urls_are_addresses_and_ports),
	};

	js_init();
	return cmocka_run_group_tests_name("manifests", tests, NULL, NULL);
}
