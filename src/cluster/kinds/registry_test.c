/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/schema.h"
#include "cluster/kinds/testkinds.h"
#include "meta/testyaml.h"

#define NOW "2026-11-16T03:48:24Z"

/* As the network plumbing working group writes it. */
static const char nad[] =
	"apiVersion: apiextensions.k8s.io/v1\n"
	"kind: CustomResourceDefinition\n"
	"metadata:\n"
	"  name: network-attachment-definitions.k8s.cni.cncf.io\n"
	"spec:\n"
	"  group: k8s.cni.cncf.io\n"
	"  scope: Namespaced\n"
	"  names:\n"
	"    plural: network-attachment-definitions\n"
	"    singular: network-attachment-definition\n"
	"    kind: NetworkAttachmentDefinition\n"
	"    shortNames:\n"
	"    - net-attach-def\n"
	"  versions:\n"
	"  - name: v1\n"
	"    served: true\n"
	"    storage: true\n"
	"    schema:\n"
	"      openAPIV3Schema:\n"
	"        description: A network.\n"
	"        type: object\n"
	"        properties:\n"
	"          apiVersion: {type: string}\n"
	"          kind: {type: string}\n"
	"          metadata: {type: object}\n"
	"          spec:\n"
	"            type: object\n"
	"            properties:\n"
	"              config: {type: string}\n";

/* With what larger projects' definitions use. */
static const char gadget[] =
	"metadata: {name: gadgets.example.com}\n"
	"spec:\n"
	"  group: example.com\n"
	"  scope: Cluster\n"
	"  names: {plural: gadgets, kind: Gadget, shortNames: [gd], "
	"categories: "
	"[all]}\n"
	"  versions:\n"
	"  - name: v1beta1\n"
	"    served: true\n"
	"    storage: false\n"
	"    deprecated: true\n"
	"    schema: {openAPIV3Schema: {type: object, "
	"x-kubernetes-preserve-unknown-fields: true}}\n"
	"  - name: v1\n"
	"    served: true\n"
	"    storage: true\n"
	"    subresources: {status: {}, scale: {specReplicasPath: "
	".spec.replicas, statusReplicasPath: .status.replicas}}\n"
	"    additionalPrinterColumns:\n"
	"    - {name: Size, type: integer, jsonPath: .spec.size, priority: 1}\n"
	"    schema:\n"
	"      openAPIV3Schema:\n"
	"        type: object\n"
	"        required: [spec]\n"
	"        properties:\n"
	"          spec:\n"
	"            type: object\n"
	"            x-kubernetes-validations: [{rule: 'self.size > 0'}]\n"
	"            properties:\n"
	"              size: {type: integer, default: 3}\n"
	"              replicas: {type: integer}\n"
	"              port: {x-kubernetes-int-or-string: true}\n"
	"              template: {type: object, "
	"x-kubernetes-embedded-resource: true, "
	"x-kubernetes-preserve-unknown-fields: true}\n"
	"              list: {type: array, x-kubernetes-list-type: map, "
	"x-kubernetes-list-map-keys: [name], items: {type: object, required: "
	"[name], properties: {name: {type: string}}}}\n"
	"          status: {type: object, properties: {replicas: {type: "
	"integer}}}\n";

struct world {
	struct registry *registry;
	struct causes causes;
};

static int
setup(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	w->registry = testkinds_registry(false);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	registry_free(w->registry);
	causes_done(&w->causes);
	free(w);
	return 0;
}

/* Prepares and sets; a new reference to what would be stored. */
static json_t *
define(struct world *w, const char *text)
{
	json_t *crd = testyaml(text);

	if (registry_prepare_crd(w->registry, crd, NULL, NOW, &w->causes) ==
		    -1 ||
	    registry_set_crd(w->registry, crd, &w->causes) == -1)
		fail_msg("%s", causes_text(&w->causes));
	return crd;
}

/* What preparing the definition says, after a change of its text. */
static char *
complaint(struct world *w, const char *text, const char *from, const char *to)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	const char *at = strstr(text, from);
	AUTO(free_ptr) char *changed = NULL;
	AUTO(js_unref) json_t *crd = NULL;

	assert_non_null(at);
	changed = xasprintf("%.*s%s%s", (int)(at - text), text, to,
			    at + strlen(from));
	crd = testyaml(changed);
	assert_int_equal(
		registry_prepare_crd(w->registry, crd, NULL, NOW, &causes), -1);
	return causes_text(&causes);
}

static void
test_built_in_kinds_are_there(void **state)
{
	static const struct {
		const char *group, *version, *plural;
	} wanted[] = {
		{ "", "v1", "namespaces" },
		{ "", "v1", "pods" },
		{ "", "v1", "events" },
		{ "events.k8s.io", "v1", "events" },
		{ "policy", "v1", "poddisruptionbudgets" },
		{ "policy", "v1beta1", "poddisruptionbudgets" },
		{ "coordination.k8s.io", "v1", "leases" },
		{ "authentication.k8s.io", "v1alpha1", "selfsubjectreviews" },
		{ "apiextensions.k8s.io", "v1", "customresourcedefinitions" },
		{ "apiregistration.k8s.io", "v1", "apiservices" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		(void)testkinds_version(w->registry, wanted[i].group,
					wanted[i].version, wanted[i].plural);
	assert_int_equal(
		registry_find(w->registry, "", "v2", "pods", NULL, NULL), -1);
	/* bodies have a kind, but no path */
	assert_non_null(registry_by_kind(w->registry, "policy", "Eviction"));
	assert_int_equal(registry_find(w->registry, "policy", "v1", "evictions",
				       NULL, NULL),
			 -1);
	assert_true(registry_has_group(w->registry, "", "v1"));
	assert_true(registry_has_group(w->registry, "policy", NULL));
	assert_false(registry_has_group(w->registry, "policy", "v2"));
	assert_false(registry_has_group(w->registry, "autoscaling", NULL));
}

static void
test_a_definition_from_the_web_just_works(void **state)
{
	struct world *w = *state;
	uint64_t before = registry_generation(w->registry);
	AUTO(js_unref) json_t *crd = define(w, nad);
	AUTO(js_unref)
	json_t *obj = testyaml("{apiVersion: k8s.cni.cncf.io/v1, kind: "
			       "NetworkAttachmentDefinition, metadata: "
			       "{name: br0, bogus: 1}, spec: {config: "
			       "'{}', more: 1}}");
	struct kind_version *version;
	AUTO(free_ptr) char *wrong = NULL;

	assert_true(registry_generation(w->registry) > before);
	version = testkinds_version(w->registry, "k8s.cni.cncf.io", "v1",
				    "network-attachment-definitions");
	wrong = testkinds_check(version->schema, obj);
	assert_string_equal(wrong, "unknown metadata.bogus; unknown "
				   "spec.more; ");
	assert_false(version->has_status);
	assert_int_equal(version->column_count, 2);
	assert_string_equal(version->columns[1].name, "Age");
	assert_string_equal(version->kind->list_kind,
			    "NetworkAttachmentDefinitionList");
	assert_string_equal(js_str_at(crd, "spec.conversion.strategy"), "None");
	testkinds_equal(js_at(crd, "status.storedVersions"), "[\"v1\"]");
	assert_string_equal(
		js_str_at(js_find(js_arr_at(crd, "status.conditions"), "type",
				  "Established"),
			  "status"),
		"True");
	assert_string_equal(js_str_at(crd, "status.acceptedNames.singular"),
			    "network-attachment-definition");
}

static void
test_versions_subresources_and_columns_are_taken_over(void **state)
{
	struct world *w = *state;
	struct kind_version *v1, *beta;
	struct kind *kind;

	json_decref(define(w, gadget));
	kind = registry_by_kind(w->registry, "example.com", "Gadget");
	assert_non_null(kind);
	assert_false(kind->namespaced);
	assert_string_equal(kind->singular, "gadget");
	assert_string_equal(kind->versions[0].name, "v1");
	assert_ptr_equal(kind->storage, &kind->versions[0]);
	v1 = &kind->versions[0];
	beta = &kind->versions[1];
	assert_true(v1->has_status);
	assert_non_null(kind_subresource(kind, v1, "status"));
	assert_non_null(kind_subresource(kind, v1, "scale"));
	assert_null(kind_subresource(kind, beta, "status"));
	assert_null(kind_subresource(kind, beta, "scale"));
	assert_string_equal(v1->scale_spec, ".spec.replicas");
	assert_string_equal(beta->warning,
			    "example.com/v1beta1 Gadget is deprecated");
	assert_null(v1->warning);
	assert_int_equal(v1->columns[1].priority, 1);
	assert_string_equal(v1->api_version, "example.com/v1");
}

static void
test_extensions_of_schemas_are_followed(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *right = NULL, *wrong = NULL;
	struct kind_version *v1;
	AUTO(js_unref)
	json_t *good = testyaml(
		"{metadata: {name: a}, spec: {port: http, template: "
		"{apiVersion: v1, kind: X, metadata: {name: a, labels: {a: b}},"
		" anything: [1]}, list: [{name: a}, {name: b}]}}");
	AUTO(js_unref)
	json_t *bad = testyaml(
		"{metadata: {name: a}, spec: {port: http, template: {metadata: "
		"{names: a}}, list: [{name: a}, {name: a}]}}");

	json_decref(define(w, gadget));
	v1 = testkinds_version(w->registry, "example.com", "v1", "gadgets");
	right = testkinds_check(v1->schema, good);
	wrong = testkinds_check(v1->schema, bad);
	assert_string_equal(right, "");
	assert_int_equal(js_int_at(good, "spec.size", 0), 3);
	assert_string_equal(wrong,
			    "unknown spec.template.metadata.names; "
			    "[spec.template.apiVersion: Required value, "
			    "spec.template.kind: Required value, spec.list[1]: "
			    "Duplicate value: map[string]interface "
			    "{}{\"name\":\"a\"}]");
}

static void
test_a_definition_may_restrict_names(void **state)
{
	struct world *w = *state;
	AUTO(js_unref)
	json_t *bad = testyaml("{metadata: {name: b, labels: {a: b}}}");
	struct kind_version *version;
	AUTO(free_ptr) char *wrong = NULL;

	json_decref(define(
		w,
		"{metadata: {name: ones.example.com}, spec: {group: "
		"example.com, scope: Cluster, names: {plural: ones, kind: "
		"One}, versions: [{name: v1, served: true, storage: true, "
		"schema: {openAPIV3Schema: {type: object, properties: "
		"{metadata: {type: object, properties: {name: {type: string, "
		"enum: [a]}}}}}}}]}}"));
	version = testkinds_version(w->registry, "example.com", "v1", "ones");
	wrong = testkinds_check(version->schema, bad);
	assert_string_equal(wrong, "metadata.name: Unsupported value: \"b\": "
				   "supported values: \"a\"");
}

static void
test_a_wrong_definition_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{ "name: gadgets.example.com", "name: gadget.example.com",
		  "metadata.name: Invalid value: \"gadget.example.com\": must "
		  "be spec.names.plural+\".\"+spec.group" },
		{ "storage: false", "storage: true",
		  "must have exactly one version marked as storage version" },
		{ "group: example.com", "group: example.k8s.io",
		  "protected groups must have approval annotation" },
		{ "jsonPath: .spec.size", "jsonPath: '.spec['", "jsonPath" },
		{ "type: integer, jsonPath", "type: int, jsonPath",
		  "spec.versions[1].additionalPrinterColumns[0].type: "
		  "Unsupported value: \"int\"" },
		{ "size: {type: integer, ", "size: {type: int, ",
		  "spec.versions[1].schema.openAPIV3Schema.properties[spec]."
		  "properties[size].type: Unsupported value: \"int\"" },
		{ "kind: Gadget", "kind: Gad_get", "spec.names.kind" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr)
		char *text = complaint(w, gadget, cases[i].from, cases[i].to);

		if (strstr(text, cases[i].says) == NULL)
			fail_msg("%s", text);
	}
}

static void
test_names_are_given_once(void **state)
{
	struct world *w = *state;
	AUTO(js_unref)
	json_t *second = testyaml(
		"{metadata: {name: gizmos.example.com}, spec: {group: "
		"example.com, scope: Cluster, names: {plural: gizmos, kind: "
		"Gizmo, shortNames: [gd]}, versions: [{name: v1, served: true, "
		"storage: true, schema: {openAPIV3Schema: {type: object}}}]}}");
	const json_t *condition;

	json_decref(define(w, gadget));
	assert_int_equal(registry_prepare_crd(w->registry, second, NULL, NOW,
					      &w->causes),
			 0);
	condition = js_find(js_arr_at(second, "status.conditions"), "type",
			    "NamesAccepted");
	assert_string_equal(js_str_at(condition, "status"), "False");
	assert_string_equal(js_str_at(condition, "message"),
			    "\"gd\" is already in use");
	assert_int_equal(registry_set_crd(w->registry, second, &w->causes), 0);
	assert_null(registry_by_kind(w->registry, "example.com", "Gizmo"));
	/* The other one goes: now the names are free. */
	registry_remove_crd(w->registry, "gadgets.example.com");
	assert_null(registry_by_kind(w->registry, "example.com", "Gadget"));
	assert_int_equal(registry_set_crd(w->registry, second, &w->causes), 0);
	assert_non_null(registry_by_kind(w->registry, "example.com", "Gizmo"));
}

static void
test_an_update_keeps_what_cannot_change(void **state)
{
	struct world *w = *state;
	AUTO(js_unref) json_t *old = define(w, gadget);
	AUTO(js_unref) json_t *crd = json_deep_copy(old);
	AUTO(free_ptr) char *text = NULL;
	json_t *versions;

	/* a changed scope */
	(void)json_object_set_new(js_obj_at(crd, "spec"), "scope",
				  json_string("Namespaced"));
	assert_int_equal(
		registry_prepare_crd(w->registry, crd, old, NOW, &w->causes),
		-1);
	text = causes_text(&w->causes);
	assert_string_equal(text, "spec.scope: Invalid value: \"Namespaced\": "
				  "field is immutable");
	causes_done(&w->causes);
	/* another storage version: the old one stays among the stored */
	js_unref(&crd);
	crd = json_deep_copy(old);
	versions = js_arr_at(crd, "spec.versions");
	(void)json_object_set_new(json_array_get(versions, 0), "storage",
				  json_true());
	(void)json_object_set_new(json_array_get(versions, 1), "storage",
				  json_false());
	assert_int_equal(
		registry_prepare_crd(w->registry, crd, old, NOW, &w->causes),
		0);
	testkinds_equal(js_at(crd, "status.storedVersions"),
			"[\"v1\",\"v1beta1\"]");
	/* and cannot be taken out */
	(void)json_array_remove(versions, 1);
	assert_int_equal(
		registry_prepare_crd(w->registry, crd, old, NOW, &w->causes),
		-1);
	free(text);
	text = causes_text(&w->causes);
	assert_string_equal(text, "status.storedVersions[0]: Invalid value: "
				  "\"v1\": must appear in spec.versions");
}

static void
test_a_kind_outlives_its_definition_while_it_is_held(void **state)
{
	struct world *w = *state;
	AUTO(js_unref) json_t *crd = define(w, gadget);
	struct kind *kind = kind_ref(
		registry_by_kind(w->registry, "example.com", "Gadget"));

	assert_int_equal(registry_set_crd(w->registry, crd, &w->causes), 0);
	assert_ptr_not_equal(
		registry_by_kind(w->registry, "example.com", "Gadget"), kind);
	registry_remove_crd(w->registry, "gadgets.example.com");
	assert_string_equal(kind->versions[0].name, "v1");
	kind_unref(kind);
}

static void
test_built_in_kinds_cannot_be_taken_over(void **state)
{
	struct world *w = *state;

	registry_remove_crd(w->registry, "events.events.k8s.io");
	assert_non_null(
		registry_by_kind(w->registry, "events.k8s.io", "Event"));
}

static void
test_the_bundled_definitions_are_right(void **state)
{
	struct registry *registry = testkinds_registry(true);
	struct kind_version *vmi = testkinds_version(
		registry, "kubevirt.io", "v1", "virtualmachineinstances");
	struct kind_version *old = testkinds_version(
		registry, "kubevirt.io", "v1alpha3", "virtualmachineinstances");
	struct kind_version *vmim =
		testkinds_version(registry, "kubevirt.io", "v1",
				  "virtualmachineinstancemigrations");

	(void)state;
	assert_false(vmi->has_status);
	assert_true(vmim->has_status);
	assert_string_equal(old->warning,
			    "kubevirt.io/v1alpha3 is now deprecated and will "
			    "be removed in a future release.");
	/* one schema for versions that are alike */
	assert_ptr_equal(vmi->schema, old->schema);
	assert_int_equal(vmim->column_count, 3);
	assert_string_equal(vmim->columns[1].name, "Phase");
	assert_string_equal(vmim->columns[2].name, "VMI");
	(void)testkinds_version(registry, "migrations.kubevirt.io", "v1alpha1",
				"migrationpolicies");
	(void)testkinds_version(registry, "cdi.kubevirt.io", "v1beta1",
				"storageprofiles");
	registry_free(registry);
}

static void
test_events_change_their_form_with_their_group(void **state)
{
	struct world *w = *state;
	struct kind_version *core =
		testkinds_version(w->registry, "", "v1", "events");
	struct kind_version *other =
		testkinds_version(w->registry, "events.k8s.io", "v1", "events");
	AUTO(js_unref)
	json_t *event =
		testyaml("{apiVersion: v1, kind: Event, metadata: {name: e}, "
			 "involvedObject: {name: a}, message: m, count: 2}");
	AUTO(js_unref) json_t *before = json_deep_copy(event);

	assert_ptr_equal(other->kind->storage_kind, core->kind);
	kind_convert(core, other, event);
	testkinds_equal(event,
			"{\"apiVersion\":\"events.k8s.io/v1\",\"deprecatedCount"
			"\":2,\"kind\":\"Event\",\"metadata\":{\"name\":\"e\"},"
			"\"note\":\"m\",\"regarding\":{\"name\":\"a\"}}");
	kind_convert(other, core, event);
	assert_true(json_equal(event, before));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_built_in_kinds_are_there,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_definition_from_the_web_just_works, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_versions_subresources_and_columns_are_taken_over,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_extensions_of_schemas_are_followed, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_definition_may_restrict_names, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_wrong_definition_is_refused_with_its_place,
			setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_are_given_once,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_an_update_keeps_what_cannot_change, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_kind_outlives_its_definition_while_it_is_held,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_built_in_kinds_cannot_be_taken_over, setup,
			teardown),
		cmocka_unit_test(test_the_bundled_definitions_are_right),
		cmocka_unit_test_setup_teardown(
			test_events_change_their_form_with_their_group, setup,
			teardown),
	};

	js_init();
	return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
