/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/openapi.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "cluster/kinds/registry.h"
#include "cluster/kinds/testkinds.h"

#define REF "#/components/schemas/"

struct world {
	struct registry *registry;
	struct openapi *openapi;
};

static int
setup(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	w->registry = testkinds_registry(true);
	w->openapi = openapi_new(w->registry);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	openapi_free(w->openapi);
	registry_free(w->registry);
	free(w);
	return 0;
}

static json_t *
parse(const struct document *document)
{
	struct err err;
	json_t *value;

	assert_non_null(document);
	value = js_parse(document->data, document->len, &err);
	if (value == NULL)
		fail_msg("%s", err.text);
	return value;
}

static void
test_the_index_leads_to_every_document(void **state)
{
	struct world *w = *state;
	AUTO(js_unref) json_t *index = parse(openapi_v3_index(w->openapi));
	const char *name;
	json_t *entry;

	assert_true(json_object_size(js_obj_at(index, "paths")) > 10);
	json_object_foreach(js_obj_at(index, "paths"), name, entry)
	{
		const struct document *document = openapi_v3(w->openapi, name);
		AUTO(free_ptr) char *url = NULL;

		assert_non_null(document);
		url = xasprintf("/openapi/v3/%s?hash=%s", name, document->hash);
		assert_string_equal(js_str_at(entry, "serverRelativeURL"), url);
	}
	assert_null(openapi_v3(w->openapi, "apis/nosuch.io/v1"));
	assert_null(openapi_v3(w->openapi, "apis/"));
	assert_null(openapi_v3(w->openapi, "apis/kubevirt.io"));
	assert_null(openapi_v3(w->openapi, ""));
	assert_null(openapi_v3(w->openapi, "/2"));
}

/* kubectl looks for exactly this before it creates anything. */
static void
test_patch_says_what_the_server_can_do(void **state)
{
	struct world *w = *state;
	AUTO(js_unref)
	json_t *doc = parse(openapi_v3(w->openapi, "apis/kubevirt.io/v1"));
	const json_t *path =
		json_object_get(json_object_get(doc, "paths"),
				"/apis/kubevirt.io/v1/namespaces/{namespace}/"
				"virtualmachineinstancemigrations/{name}");
	const json_t *patch = json_object_get(path, "patch");

	testkinds_equal(
		json_object_get(patch, "x-kubernetes-group-version-kind"),
		"{\"group\":\"kubevirt.io\",\"kind\":"
		"\"VirtualMachineInstanceMigration\",\"version\":\"v1\""
		"}");
	assert_non_null(
		js_find(js_arr_at(patch, "parameters"), "name", "dryRun"));
	assert_non_null(js_find(js_arr_at(patch, "parameters"), "name",
				"fieldValidation"));
	assert_string_equal(
		js_str_at(patch, "operationId"),
		"patchKubevirtIoV1NamespacedVirtualMachineInstanceMigration");
}

/* As deep as the document. */
static void /* NOLINTNEXTLINE(misc-no-recursion) */
assert_refs_lead_somewhere(const json_t *node, const json_t *schemas)
{
	const char *name, *ref;
	json_t *value;
	size_t i;

	if (json_is_array(node)) {
		json_array_foreach(node, i, value)
			assert_refs_lead_somewhere(value, schemas);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)node, name, value)
	{
		ref = json_string_value(value);
		if (str_equal(name, "$ref") && ref != NULL) {
			assert_true(str_has_prefix(ref, REF));
			if (json_object_get(schemas, ref + strlen(REF)) == NULL)
				fail_msg("%s", ref);
		}
		assert_refs_lead_somewhere(value, schemas);
	}
}

static void
test_every_reference_leads_somewhere(void **state)
{
	struct world *w = *state;
	AUTO(js_unref) json_t *index = parse(openapi_v3_index(w->openapi));
	const char *name;
	json_t *entry;

	json_object_foreach(js_obj_at(index, "paths"), name, entry)
	{
		AUTO(js_unref)
		json_t *doc = parse(openapi_v3(w->openapi, name));

		assert_refs_lead_somewhere(
			doc, js_obj_at(doc, "components.schemas"));
	}
}

static void
test_types_keep_their_names_and_merge_keys(void **state)
{
	struct world *w = *state;
	AUTO(js_unref) json_t *doc = parse(openapi_v3(w->openapi, "api/v1"));
	const json_t *schemas = js_obj_at(doc, "components.schemas");
	const json_t *pod = json_object_get(schemas, "io.k8s.api.core.v1.Pod");
	const json_t *spec =
		json_object_get(schemas, "io.k8s.api.core.v1.PodSpec");
	const json_t *containers = json_object_get(
		json_object_get(spec, "properties"), "containers");

	testkinds_equal(
		json_object_get(pod, "x-kubernetes-group-version-kind"),
		"[{\"group\":\"\",\"kind\":\"Pod\",\"version\":\"v1\"}]");
	testkinds_equal(
		json_object_get(json_object_get(pod, "properties"), "spec"),
		"{\"allOf\":[{\"$ref\":\"" REF
		"io.k8s.api.core.v1.PodSpec\"}],\"description\":\"What "
		"the pod is made of.\"}");
	assert_string_equal(
		js_str_at(containers, "x-kubernetes-patch-merge-key"), "name");
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(containers, "items"), "$ref")),
		REF "io.k8s.api.core.v1.Container");
	assert_non_null(json_object_get(schemas, "io.k8s.api.core.v1.PodList"));
}

/* ------------------------------------------------------------ version 2 */

struct bytes {
	const uint8_t *at, *end;
};

static uint64_t
varint(struct bytes *in)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(in->at < in->end);
		value |= (uint64_t)(*in->at & 0x7f) << shift;
		if ((*in->at++ & 0x80) == 0)
			return value;
	}
}

/* The next field, its contents if it has a length; 0 at the end. */
static unsigned
next_field(struct bytes *in, struct bytes *ret)
{
	uint64_t tag;

	if (in->at == in->end)
		return 0;
	tag = varint(in);
	if ((tag & 7) == 0) {
		(void)varint(in);
		return (unsigned)(tag >> 3);
	}
	assert_int_equal(tag & 7, 2);
	{
		uint64_t len = varint(in);

		assert_true(len <= (uint64_t)(in->end - in->at));
		*ret = (struct bytes){ in->at, in->at + len };
		in->at += len;
	}
	return (unsigned)(tag >> 3);
}

static bool
is_text(const struct bytes *bytes, const char *text)
{
	size_t len = (size_t)(bytes->end - bytes->at);

	return len == strlen(text) && memcmp(bytes->at, text, len) == 0;
}

/* The value of a NamedX that is called so, among the fields number. */
static struct bytes
find_named(struct bytes in, unsigned number, const char *name)
{
	struct bytes entry = { NULL, NULL }, part = entry, value = entry;
	unsigned field;

	while ((field = next_field(&in, &entry)) != 0) {
		bool found = false;

		if (field != number)
			continue;
		while ((field = next_field(&entry, &part)) != 0) {
			if (field == 1)
				found = is_text(&part, name);
			else
				value = part;
		}
		if (found)
			return value;
	}
	fail_msg("no %s", name);
	return value;
}

static struct bytes
find_field(struct bytes in, unsigned number)
{
	struct bytes part = { NULL, NULL };
	unsigned field;

	while ((field = next_field(&in, &part)) != 0) {
		if (field == number)
			return part;
	}
	fail_msg("no field %u", number);
	return part;
}

static void
test_version_two_is_a_document_of_gnostic(void **state)
{
	struct world *w = *state;
	const struct document *document = openapi_v2(w->openapi, true);
	struct bytes in = { (const uint8_t *)document->data,
			    (const uint8_t *)document->data + document->len };
	struct bytes schema, patch, query, part = { NULL, NULL };
	unsigned field, parameters = 0, dry_run = 0;

	assert_string_equal(document->content_type, "application/octet-stream");
	part = find_field(in, 1);
	assert_true(is_text(&part, "2.0"));

	schema = find_named(find_field(in, 9), 1,
			    "io.kubevirt.v1.VirtualMachineInstanceMigration");
	/* properties, then spec, then its properties, then vmiName: type */
	schema = find_named(find_field(schema, 25), 1, "spec");
	schema = find_named(find_field(schema, 25), 1, "vmiName");
	part = find_field(find_field(schema, 22), 1);
	assert_true(is_text(&part, "string"));

	patch = find_field(
		find_named(find_field(in, 8), 2,
			   "/apis/kubevirt.io/v1/namespaces/{namespace}/"
			   "virtualmachineinstancemigrations/{name}"),
		8);
	part = find_field(
		find_named(patch, 13, "x-kubernetes-group-version-kind"), 2);
	assert_true(is_text(&part,
			    "{\"group\":\"kubevirt.io\",\"kind\":"
			    "\"VirtualMachineInstanceMigration\",\"version\":"
			    "\"v1\"}"));
	while ((field = next_field(&patch, &part)) != 0) {
		if (field != 8)
			continue;
		parameters++;
		query = find_field(find_field(find_field(part, 1), 2), 3);
		query = find_field(query, 4);
		dry_run += is_text(&query, "dryRun");
	}
	assert_int_equal(parameters, 4);
	assert_int_equal(dry_run, 1);
}

static void
test_version_two_leaves_open_what_it_cannot_say(void **state)
{
	struct world *w = *state;
	AUTO(js_unref) json_t *doc = parse(openapi_v2(w->openapi, false));
	const json_t *definitions = json_object_get(doc, "definitions");
	const json_t *meta = json_object_get(
		definitions, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
	const json_t *vmi = json_object_get(
		definitions, "io.kubevirt.v1.VirtualMachineInstance");
	const json_t *affinity;

	assert_string_equal(js_str_at(doc, "swagger"), "2.0");
	/* may be null */
	assert_null(json_object_get(
		js_obj_at(meta, "properties.creationTimestamp"), "type"));
	affinity = js_obj_at(vmi, "properties.spec.properties.affinity");
	assert_non_null(affinity);
	assert_null(json_object_get(affinity, "type"));
	assert_null(json_object_get(vmi, "allOf"));
}

static void
test_documents_are_made_once(void **state)
{
	struct world *w = *state;
	const struct document *first = openapi_v3(w->openapi, "api/v1");
	AUTO(free_ptr) char *hash = NULL;

	assert_ptr_equal(openapi_v3(w->openapi, "api/v1"), first);
	first = openapi_v3(w->openapi, "apis/kubevirt.io/v1");
	hash = xstrdup(first->hash);
	/* A change of another group does not matter. */
	registry_remove_crd(w->registry,
			    "migrationpolicies.migrations.kubevirt.io");
	assert_ptr_equal(openapi_v3(w->openapi, "apis/kubevirt.io/v1"), first);
	registry_remove_crd(w->registry, "kubevirts.kubevirt.io");
	assert_string_not_equal(
		openapi_v3(w->openapi, "apis/kubevirt.io/v1")->hash, hash);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_the_index_leads_to_every_document, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_patch_says_what_the_server_can_do, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_every_reference_leads_somewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_types_keep_their_names_and_merge_keys, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_version_two_is_a_document_of_gnostic, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_version_two_leaves_open_what_it_cannot_say, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_documents_are_made_once,
						setup, teardown),
	};

	js_init();
	return cmocka_run_group_tests_name("openapi", tests, NULL, NULL);
}
