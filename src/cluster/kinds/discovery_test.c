/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/kinds/registry.h"
#include "cluster/kinds/testkinds.h"
#include "meta/testyaml.h"

struct world {
	struct registry *registry;
	struct discovery *discovery;
};

static int
setup(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	w->registry = testkinds_registry(true);
	w->discovery = discovery_new(w->registry, "10.0.0.1:6443");
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	discovery_free(w->discovery);
	registry_free(w->registry);
	free(w);
	return 0;
}

/* A new reference to what is at the path. */
static json_t *
get(struct world *w, const char *path, enum discovery_form form)
{
	const struct document *document =
		discovery_document(w->discovery, path, form);
	struct err err;
	json_t *value;

	assert_non_null(document);
	assert_int_equal(document->data[document->len - 1], '\n');
	value = js_parse(document->data, document->len, &err);
	assert_non_null(value);
	return value;
}

static void
test_the_form_follows_the_accept_header(void **state)
{
	(void)state;
	assert_int_equal(discovery_form(NULL), DISCOVERY_PLAIN);
	assert_int_equal(discovery_form("application/json, */*"),
			 DISCOVERY_PLAIN);
	assert_int_equal(
		discovery_form("application/json;g=apidiscovery.k8s.io;v="
			       "v2beta1;as=APIGroupDiscoveryList,"
			       "application/json"),
		DISCOVERY_V2BETA1);
	assert_int_equal(
		discovery_form("application/json;g=apidiscovery.k8s.io;v=v2;as="
			       "APIGroupDiscoveryList,application/json;g="
			       "apidiscovery.k8s.io;v=v2beta1;as="
			       "APIGroupDiscoveryList,application/json"),
		DISCOVERY_V2);
	/* what is not known is passed over */
	assert_int_equal(
		discovery_form("application/json;g=apidiscovery.k8s.io;v=v9;as="
			       "APIGroupDiscoveryList, application/json;g="
			       "apidiscovery.k8s.io;v=v2beta1;as="
			       "APIGroupDiscoveryList"),
		DISCOVERY_V2BETA1);
	assert_int_equal(discovery_form(",,;,"), DISCOVERY_PLAIN);
}

static void
test_the_plain_documents_have_kubernetes_shape(void **state)
{
	struct world *w = *state;
	AUTO(js_unref) json_t *api = get(w, "/api", DISCOVERY_PLAIN);
	AUTO(js_unref)
	json_t *group = get(w, "/apis/kubevirt.io", DISCOVERY_PLAIN);
	AUTO(js_unref)
	json_t *list = get(w, "/apis/kubevirt.io/v1", DISCOVERY_PLAIN);
	const json_t *resources = js_arr_at(list, "resources");

	testkinds_equal(api, "{\"kind\":\"APIVersions\","
			     "\"serverAddressByClientCIDRs\":[{\"clientCIDR\":"
			     "\"0.0.0.0/0\",\"serverAddress\":\"10.0.0.1:6443\""
			     "}],\"versions\":[\"v1\"]}");
	testkinds_equal(
		group,
		"{\"apiVersion\":\"v1\",\"kind\":\"APIGroup\",\"name\":"
		"\"kubevirt.io\",\"preferredVersion\":{\"groupVersion\":"
		"\"kubevirt.io/v1\",\"version\":\"v1\"},\"versions\":[{"
		"\"groupVersion\":\"kubevirt.io/v1\",\"version\":\"v1\"},{"
		"\"groupVersion\":\"kubevirt.io/v1alpha3\",\"version\":"
		"\"v1alpha3\"}]}");
	assert_string_equal(js_str_at(list, "groupVersion"), "kubevirt.io/v1");
	testkinds_equal(
		js_find(resources, "name", "virtualmachineinstancemigrations"),
		"{\"categories\":[\"all\"],\"kind\":"
		"\"VirtualMachineInstanceMigration\",\"name\":"
		"\"virtualmachineinstancemigrations\",\"namespaced\":true,"
		"\"shortNames\":[\"vmim\",\"vmims\"],\"singularName\":"
		"\"virtualmachineinstancemigration\",\"verbs\":[\"create\","
		"\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\","
		"\"update\",\"watch\"]}");
	assert_non_null(js_find(resources, "name",
				"virtualmachineinstancemigrations/status"));
	assert_null(
		js_find(resources, "name", "virtualmachineinstances/status"));
}

static void
test_drain_finds_the_eviction_of_pods(void **state)
{
	struct world *w = *state;
	AUTO(js_unref) json_t *list = get(w, "/api/v1", DISCOVERY_PLAIN);

	testkinds_equal(
		js_find(js_arr_at(list, "resources"), "name", "pods/eviction"),
		"{\"group\":\"policy\",\"kind\":\"Eviction\",\"name\":"
		"\"pods/eviction\",\"namespaced\":true,"
		"\"singularName\":\"\",\"verbs\":[\"create\"],"
		"\"version\":\"v1\"}");
	assert_string_equal(js_str_at(list, "groupVersion"), "v1");
	assert_null(js_find(js_arr_at(list, "resources"), "name", "evictions"));
	testkinds_equal(
		js_at(js_find(js_arr_at(list, "resources"), "name", "nodes"),
		      "shortNames"),
		"[\"no\"]");
}

static void
test_the_aggregated_documents_hold_everything(void **state)
{
	struct world *w = *state;
	AUTO(js_unref) json_t *core = get(w, "/api", DISCOVERY_V2BETA1);
	AUTO(js_unref) json_t *all = get(w, "/apis", DISCOVERY_V2);
	const struct document *document =
		discovery_document(w->discovery, "/apis", DISCOVERY_V2);
	const json_t *item = NULL, *version, *resource;
	size_t i;

	assert_string_equal(document->content_type,
			    "application/json;g=apidiscovery.k8s.io;v=v2;as="
			    "APIGroupDiscoveryList");
	assert_string_equal(js_str_at(all, "apiVersion"),
			    "apidiscovery.k8s.io/v2");
	assert_int_equal(json_array_size(js_arr_at(core, "items")), 1);
	json_array_foreach(js_arr_at(all, "items"), i, item)
	{
		if (strcmp(js_str_at(item, "metadata.name"), "kubevirt.io") ==
		    0)
			break;
	}
	version = json_array_get(js_arr_at(item, "versions"), 0);
	assert_string_equal(js_str_at(version, "version"), "v1");
	resource = js_find(js_arr_at(version, "resources"), "resource",
			   "virtualmachineinstancemigrations");
	testkinds_equal(
		resource,
		"{\"categories\":[\"all\"],\"resource\":"
		"\"virtualmachineinstancemigrations\",\"responseKind\":{"
		"\"group\":\"kubevirt.io\",\"kind\":"
		"\"VirtualMachineInstanceMigration\",\"version\":\"v1\"},"
		"\"scope\":\"Namespaced\",\"shortNames\":[\"vmim\",\"vmims\"],"
		"\"singularResource\":\"virtualmachineinstancemigration\","
		"\"subresources\":[{\"responseKind\":{\"group\":\"kubevirt.io\""
		",\"kind\":\"VirtualMachineInstanceMigration\",\"version\":"
		"\"v1\"},\"subresource\":\"status\",\"verbs\":[\"get\","
		"\"patch\",\"update\"]}],\"verbs\":[\"create\",\"delete\","
		"\"deletecollection\",\"get\",\"list\",\"patch\",\"update\","
		"\"watch\"]}");
}

static void
test_what_is_not_there_has_no_document(void **state)
{
	static const char *const paths[] = {
		"/apis/nosuch.io",
		"/apis/nosuch.io/v1",
		"/apis/kubevirt.io/v9",
		"/api/v2",
		"/apis/",
		"/apis/kubevirt.io/v1/x",
		"/apis/autoscaling/v1",
		"/apis//v1",
		"/nosuch",
		"",
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (discovery_document(w->discovery, paths[i],
				       DISCOVERY_PLAIN) != NULL)
			fail_msg("%s", paths[i]);
	}
}

static void
test_documents_are_kept_until_something_changes(void **state)
{
	struct world *w = *state;
	const struct document *before =
		discovery_document(w->discovery, "/apis", DISCOVERY_PLAIN);
	AUTO(free_ptr) char *etag = xstrdup(before->etag);

	assert_ptr_equal(
		discovery_document(w->discovery, "/apis", DISCOVERY_PLAIN),
		before);
	registry_remove_crd(w->registry,
			    "migrationpolicies.migrations.kubevirt.io");
	assert_string_not_equal(
		discovery_document(w->discovery, "/apis", DISCOVERY_PLAIN)
			->etag,
		etag);
	assert_null(discovery_document(
		w->discovery, "/apis/migrations.kubevirt.io", DISCOVERY_PLAIN));
}

static void
test_other_servers_groups_are_merged_in(void **state)
{
	struct world *w = *state;
	AUTO(js_unref)
	json_t *answer = testyaml(
		"{kind: APIResourceList, resources: [{name: "
		"virtualmachines/start, singularName: '', namespaced: true, "
		"kind: VirtualMachine, verbs: [update]}, {name: things, "
		"singularName: thing, namespaced: false, kind: Thing, verbs: "
		"[get], shortNames: [th]}, {name: 5}, x]}");
	struct discovery_external external = {
		.group = "subresources.kubevirt.io",
		.version = "v1",
		.group_priority = 2000,
		.version_priority = 15,
	};
	AUTO(js_unref) json_t *list = NULL, *all = NULL;
	const json_t *item = NULL, *resources;
	size_t i;

	discovery_set_external(w->discovery, &external);
	/* The group is there, the version does not answer yet. */
	js_unref(&list);
	list = get(w, "/apis/subresources.kubevirt.io", DISCOVERY_PLAIN);
	assert_null(discovery_document(w->discovery,
				       "/apis/subresources.kubevirt.io/v1",
				       DISCOVERY_PLAIN));
	external.resources = answer;
	discovery_set_external(w->discovery, &external);
	js_unref(&list);
	list = get(w, "/apis/subresources.kubevirt.io/v1", DISCOVERY_PLAIN);
	assert_int_equal(json_array_size(js_arr_at(list, "resources")), 4);
	all = get(w, "/apis", DISCOVERY_V2);
	json_array_foreach(js_arr_at(all, "items"), i, item)
	{
		if (strcmp(js_str_at(item, "metadata.name"),
			   "subresources.kubevirt.io") == 0)
			break;
	}
	resources = js_arr_at(json_array_get(js_arr_at(item, "versions"), 0),
			      "resources");
	assert_int_equal(json_array_size(resources), 2);
	assert_string_equal(
		js_str_at(json_array_get(js_arr_at(json_array_get(resources, 0),
						   "subresources"),
					 0),
			  "subresource"),
		"start");
	discovery_remove_external(w->discovery, "subresources.kubevirt.io",
				  "v1");
	assert_null(discovery_document(w->discovery,
				       "/apis/subresources.kubevirt.io",
				       DISCOVERY_PLAIN));
}

static void
test_another_server_cannot_take_over_a_group_of_ours(void **state)
{
	struct world *w = *state;
	AUTO(js_unref)
	json_t *answer = testyaml("{resources: []}");
	struct discovery_external external = {
		.group = "kubevirt.io",
		.version = "v1",
		.resources = answer,
	};
	AUTO(js_unref) json_t *list = NULL;

	discovery_set_external(w->discovery, &external);
	list = get(w, "/apis/kubevirt.io/v1", DISCOVERY_PLAIN);
	assert_true(json_array_size(js_arr_at(list, "resources")) > 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_form_follows_the_accept_header),
		cmocka_unit_test_setup_teardown(
			test_the_plain_documents_have_kubernetes_shape, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_drain_finds_the_eviction_of_pods, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_the_aggregated_documents_hold_everything, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_not_there_has_no_document, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_documents_are_kept_until_something_changes, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_other_servers_groups_are_merged_in, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_another_server_cannot_take_over_a_group_of_ours,
			setup, teardown),
	};

	js_init();
	return cmocka_run_group_tests_name("discovery", tests, NULL, NULL);
}
