/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/patch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jssize.h"
#include "base/mem.h"
#include "base/testjson.h"
#include "meta/status.h"

/* What kubectl patches most. */
static const char schema_text[] =
	"{'type':'object','properties':{"
	"'metadata':{'type':'object','properties':{"
	" 'labels':{'type':'object','additionalProperties':{'type':'string'}},"
	" 'finalizers':{'type':'array','items':{'type':'string'},"
	"  'x-kubernetes-patch-strategy':'merge'}}},"
	"'spec':{'type':'object','properties':{"
	" 'containers':{'type':'array','x-kubernetes-patch-strategy':'merge',"
	"  'x-kubernetes-patch-merge-key':'name','items':{'type':'object',"
	"  'properties':{'name':{'type':'string'},"
	"   'args':{'type':'array','items':{'type':'string'}},"
	"   'ports':{'type':'array','x-kubernetes-patch-strategy':'merge',"
	"   'x-kubernetes-patch-merge-key':'containerPort',"
	"   'items':{'type':'object'}}}}},"
	" 'strategy':{'type':'object',"
	"  'x-kubernetes-patch-strategy':'retainKeys'},"
	" 'atomic':{'type':'object','x-kubernetes-patch-strategy':'replace'},"
	" 'keyless':{'type':'array','x-kubernetes-patch-strategy':'merge',"
	"  'items':{'type':'object'}},"
	" 'taints':{'type':'array','items':{'type':'object'}}}}}}";

enum how {
	HOW_JSON,
	HOW_MERGE,
	HOW_STRATEGIC,
};

static json_t *
apply(enum how how, const json_t *target, const json_t *patch,
      struct status *st)
{
	AUTO(js_unref) json_t *schema = NULL;

	switch (how) {
	case HOW_JSON:
		return patch_json(target, patch, st);
	case HOW_MERGE:
		return patch_merge(target, patch, st);
	case HOW_STRATEGIC:
		break;
	}
	schema = testjson(schema_text);
	return patch_strategic(target, patch, schema, st);
}

static void
check(enum how how, const char *target_text, const char *patch_text,
      const char *expected)
{
	AUTO(js_unref) json_t *target = testjson(target_text);
	AUTO(js_unref) json_t *patch = testjson(patch_text);
	AUTO(js_unref) json_t *before = json_deep_copy(target);
	AUTO(js_unref) json_t *patch_before = json_deep_copy(patch);
	AUTO(js_unref) json_t *want = testjson(expected);
	AUTO(status_done) struct status st = STATUS_INIT;
	AUTO(js_unref) json_t *result = apply(how, target, patch, &st);
	AUTO(free_ptr) char *got = NULL;
	AUTO(free_ptr) char *wanted = js_text_sorted(want, NULL);

	if (result == NULL)
		fail_msg("%s: %s", patch_text, st.message);
	got = js_text_sorted(result, NULL);
	assert_string_equal(got, wanted);
	assert_true(json_equal(target, before));
	assert_true(json_equal(patch, patch_before));
}

static void
check_error(enum how how, const char *target_text, const char *patch_text,
	    int code, const char *message)
{
	AUTO(js_unref) json_t *target = testjson(target_text);
	AUTO(js_unref) json_t *patch = testjson(patch_text);
	AUTO(status_done) struct status st = STATUS_INIT;

	assert_null(apply(how, target, patch, &st));
	assert_string_equal(st.message, message);
	assert_int_equal(st.code, code);
}

#define REJECTED                                                       \
	422, "the server rejected our request due to an error in our " \
	     "request"

static void
test_json_patch_operations(void **state)
{
	static const char *const cases[][3] = {
		{ "{}", "[]", "{}" },
		{ "{}", "null", "{}" },
		{ "{'a':1}", "[{'op':'add','path':'/b','value':[2]}]",
		  "{'a':1,'b':[2]}" },
		{ "{'a':1}", "[{'op':'add','path':'/a','value':null}]",
		  "{'a':null}" },
		{ "{'l':[1,3]}", "[{'op':'add','path':'/l/1','value':2}]",
		  "{'l':[1,2,3]}" },
		{ "{'l':[1]}", "[{'op':'add','path':'/l/-','value':2}]",
		  "{'l':[1,2]}" },
		{ "{'l':[1]}", "[{'op':'add','path':'/l/1','value':2}]",
		  "{'l':[1,2]}" },
		{ "{'a':{'b':1,'c':2}}", "[{'op':'remove','path':'/a/b'}]",
		  "{'a':{'c':2}}" },
		{ "{'l':[1,2,3]}", "[{'op':'remove','path':'/l/1'}]",
		  "{'l':[1,3]}" },
		{ "{'a':1}", "[{'op':'replace','path':'/a','value':{'x':[]}}]",
		  "{'a':{'x':[]}}" },
		{ "{'l':[1,2]}", "[{'op':'replace','path':'/l/0','value':9}]",
		  "{'l':[9,2]}" },
		{ "{'a':1}", "[{'op':'replace','path':'','value':{'b':2}}]",
		  "{'b':2}" },
		{ "{'a':{'b':1}}", "[{'op':'move','from':'/a/b','path':'/c'}]",
		  "{'a':{},'c':1}" },
		{ "{'l':[1,2,3]}",
		  "[{'op':'move','from':'/l/0','path':'/l/2'}]",
		  "{'l':[2,3,1]}" },
		{ "{'a':{'b':1}}", "[{'op':'copy','from':'/a','path':'/a/c'}]",
		  "{'a':{'b':1,'c':{'b':1}}}" },
		{ "{'a':{'b':[1]}}",
		  "[{'op':'test','path':'/a','value':{'b':[1]}}]",
		  "{'a':{'b':[1]}}" },
		{ "{}", "[{'op':'test','path':'/a','value':null}]", "{}" },
		{ "{'a/b':1,'c~d':2}",
		  "[{'op':'remove','path':'/a~1b'},"
		  "{'op':'replace','path':'/c~0d','value':3}]",
		  "{'c~d':3}" },
		{ "{'':{'':1}}", "[{'op':'replace','path':'//','value':2}]",
		  "{'':{'':2}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(HOW_JSON, cases[i][0], cases[i][1], cases[i][2]);
}

static void
test_json_patches_that_do_not_apply_change_nothing(void **state)
{
	static const char *const cases[] = {
		"[{'op':'test','path':'/a','value':2}]",
		"[{'op':'test','path':'/x','value':2}]",
		"[{'op':'test','path':'/l/9','value':null}]",
		"[{'op':'remove','path':'/x'}]",
		"[{'op':'remove','path':''}]",
		"[{'op':'remove','path':'/l/2'}]",
		"[{'op':'replace','path':'/x','value':1}]",
		"[{'op':'add','path':'/x/y','value':1}]",
		"[{'op':'add','path':'/a/y','value':1}]",
		"[{'op':'add','path':'/l/3','value':1}]",
		"[{'op':'add','path':'/l/01','value':1}]",
		"[{'op':'add','path':'/l/-1','value':1}]",
		"[{'op':'add','path':'/l/x','value':1}]",
		"[{'op':'add','path':'/l/4294967296','value':1}]",
		"[{'op':'add','path':'a','value':1}]",
		"[{'op':'add','path':'/~2','value':1}]",
		"[{'op':'add','path':'/~','value':1}]",
		"[{'op':'add','path':'/b'}]",
		"[{'op':'add','value':1}]",
		"[{'op':'add','path':7,'value':1}]",
		"[{'op':'fly','path':'/a','value':1}]",
		"[{'path':'/a','value':1}]",
		"[{'op':'copy','path':'/b'}]",
		"[{'op':'copy','path':'/b','from':'/x'}]",
		"[{'op':'move','path':'/o/b/c','from':'/o/b'}]",
		"[{'op':'move','path':'/x','from':''}]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_error(HOW_JSON, "{'a':1,'l':[1,2],'o':{'b':{'c':1}}}",
			    cases[i], REJECTED);
	check_error(HOW_JSON, "{}", "{}", 400,
		    "error decoding patch: json: cannot unmarshal object into "
		    "Go value of type []handlers.jsonPatchOp");
	check_error(HOW_JSON, "{}", "[5]", 400,
		    "error decoding patch: json: cannot unmarshal number into "
		    "Go value of type handlers.jsonPatchOp");
}

/* n times the same operation. */
static json_t *
repeat(size_t n, const char *operation)
{
	json_t *ops = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(ops, testjson(operation));
	return ops;
}

static void
test_json_patches_cannot_grow_a_document(void **state)
{
	AUTO(js_unref) json_t *target = testjson("{'a':{},'l':[]}");
	AUTO(js_unref)
	json_t *many = repeat(PATCH_MAX_OPS + 1, "{'op':'remove','path':'/a'}");
	/* Each copies all there is beside itself. */
	AUTO(js_unref)
	json_t *wide = repeat(64, "{'op':'copy','from':'/l','path':'/l/-'}");
	AUTO(js_unref)
	json_t *deep = repeat(100, "{'op':'copy','from':'/a','path':'/a/b'}");
	AUTO(status_done) struct status st = STATUS_INIT;

	(void)state;
	assert_null(patch_json(target, many, &st));
	assert_int_equal(st.code, 413);
	assert_string_equal(st.message,
			    "Request entity too large: The allowed maximum "
			    "operations in a JSON patch is 10000, got 10001");
	assert_null(patch_json(target, wide, &st));
	assert_int_equal(st.code, 422);
	assert_null(patch_json(target, deep, &st));
	assert_int_equal(st.code, 422);
}

static void
test_merge_patches(void **state)
{
	/* Those of RFC 7386 whose patch is an object, and some more. */
	static const char *const cases[][3] = {
		{ "{'a':'b'}", "{'a':'c'}", "{'a':'c'}" },
		{ "{'a':'b'}", "{'b':'c'}", "{'a':'b','b':'c'}" },
		{ "{'a':'b'}", "{'a':null}", "{}" },
		{ "{'a':'b','b':'c'}", "{'a':null}", "{'b':'c'}" },
		{ "{'a':['b']}", "{'a':'c'}", "{'a':'c'}" },
		{ "{'a':'c'}", "{'a':['b']}", "{'a':['b']}" },
		{ "{'a':{'b':'c'}}", "{'a':{'b':'d','c':null}}",
		  "{'a':{'b':'d'}}" },
		{ "{'a':[{'b':'c'}]}", "{'a':[1]}", "{'a':[1]}" },
		{ "{'e':null}", "{'a':1}", "{'e':null,'a':1}" },
		{ "[1,2]", "{'a':'b','c':null}", "{'a':'b'}" },
		{ "{}", "{'a':{'bb':{'ccc':null}}}", "{'a':{'bb':{}}}" },
		{ "{'a':[1]}", "{'a':[null]}", "{'a':[null]}" },
		{ "{'a':[1]}", "{'a':[{'b':null,'c':[{'d':null}]}]}",
		  "{'a':[{'c':[{}]}]}" },
		{ "{'a':{'b':{'c':1,'d':2}},'e':3}",
		  "{'a':{'b':{'c':null,'x':{'y':[]}}}}",
		  "{'a':{'b':{'d':2,'x':{'y':[]}}},'e':3}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(HOW_MERGE, cases[i][0], cases[i][1], cases[i][2]);
	check_error(HOW_MERGE, "{}", "[]", 400,
		    "error decoding patch: json: cannot unmarshal array into "
		    "Go value of type map[string]interface {}");
}

static void
test_strategic_merges_maps_and_replaces_other_lists(void **state)
{
	static const char *const cases[][3] = {
		{ "{'metadata':{'labels':{'a':'1','b':'2'}}}",
		  "{'metadata':{'labels':{'a':null,'c':'3','d':null}}}",
		  "{'metadata':{'labels':{'b':'2','c':'3'}}}" },
		{ "{'metadata':{}}",
		  "{'metadata':{'labels':{'a':null,'b':'1'}}}",
		  "{'metadata':{'labels':{'b':'1'}}}" },
		{ "{'spec':{'taints':[{'key':'a'},{'key':'b'}]}}",
		  "{'spec':{'taints':[{'key':'c'}]}}",
		  "{'spec':{'taints':[{'key':'c'}]}}" },
		{ "{'spec':{'atomic':{'a':1,'b':2}}}",
		  "{'spec':{'atomic':{'c':3}}}",
		  "{'spec':{'atomic':{'c':3}}}" },
		{ "{'spec':{'unknown':{'a':1,'l':[1]}}}",
		  "{'spec':{'unknown':{'b':2,'l':[2]}}}",
		  "{'spec':{'unknown':{'a':1,'b':2,'l':[2]}}}" },
		{ "{'spec':{'x':5}}", "{'spec':{'x':{'y':null,'z':1}}}",
		  "{'spec':{'x':{'z':1}}}" },
		{ "{'spec':{'a':1}}", "{'spec':null}", "{}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(HOW_STRATEGIC, cases[i][0], cases[i][1], cases[i][2]);
}

#define POD(containers) "{'spec':{'containers':" containers "}}"

static void
test_strategic_merges_lists_by_key(void **state)
{
	static const char *const cases[][3] = {
		{ POD("[{'name':'a','image':'1','args':['x']},{'name':'b'}]"),
		  POD("[{'name':'a','image':'2','args':['y']}]"),
		  POD("[{'name':'a','image':'2','args':['y']},{'name':'b'}]") },
		{ POD("[{'name':'a'},{'name':'b'}]"), POD("[{'name':'c'}]"),
		  POD("[{'name':'c'},{'name':'a'},{'name':'b'}]") },
		{ POD("[{'name':'a'},{'name':'b'},{'name':'c'}]"),
		  POD("[{'name':'b','$patch':'delete'}]"),
		  POD("[{'name':'a'},{'name':'c'}]") },
		{ POD("[{'name':'a'},{'name':'b'}]"),
		  POD("[{'$patch':'replace'},{'name':'z','x':null}]"),
		  POD("[{'name':'z'}]") },
		{ POD("[{'name':'a','ports':[{'containerPort':80,'n':1},"
		      "{'containerPort':81}]}]"),
		  POD("[{'name':'a','ports':[{'containerPort':80,'n':2},"
		      "{'containerPort':81,'$patch':'delete'}]}]"),
		  POD("[{'name':'a','ports':[{'containerPort':80,'n':2}]}]") },
		{ POD("[{'name':'a','v':1}]"),
		  POD("[{'name':'a','v':2},{'name':'a','v':3,'w':{'x':1}},"
		      "{'name':'a','w':{'y':2}}]"),
		  POD("[{'name':'a','v':3,'w':{'x':1,'y':2}}]") },
		{ POD("[]"), POD("[{'name':'a'}]"), POD("[{'name':'a'}]") },
		{ "{'spec':{}}",
		  POD("[{'name':'a','$patch':'delete'},{'name':'b'}]"),
		  POD("[{'name':'b'}]") },
		{ POD("[{'name':'a','v':{'x':1}}]"),
		  POD("[{'name':'a','v':{'$patch':'replace','y':2}}]"),
		  POD("[{'name':'a','v':{'y':2}}]") },
		{ POD("[{'name':'a','v':{'x':1}}]"),
		  POD("[{'name':'a','v':{'$patch':'delete'}}]"),
		  POD("[{'name':'a','v':{}}]") },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(HOW_STRATEGIC, cases[i][0], cases[i][1], cases[i][2]);
}

static void
test_strategic_merges_scalars_as_a_set(void **state)
{
	static const char *const cases[][3] = {
		{ "{'metadata':{'finalizers':['a','b']}}",
		  "{'metadata':{'finalizers':['c','a']}}",
		  "{'metadata':{'finalizers':['c','a','b']}}" },
		{ "{'metadata':{'finalizers':['a','b','c']}}",
		  "{'metadata':{'$deleteFromPrimitiveList/finalizers':['b']}}",
		  "{'metadata':{'finalizers':['a','c']}}" },
		{ "{'metadata':{'finalizers':['a','b']}}",
		  "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a'],"
		  "'finalizers':['c'],'$setElementOrder/finalizers':['b','c']"
		  "}}",
		  "{'metadata':{'finalizers':['b','c']}}" },
		{ "{'metadata':{}}",
		  "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}",
		  "{'metadata':{}}" },
		{ "{'metadata':{}}",
		  "{'metadata':{'finalizers':['a'],"
		  "'$setElementOrder/finalizers':['a']}}",
		  "{'metadata':{'finalizers':['a']}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(HOW_STRATEGIC, cases[i][0], cases[i][1], cases[i][2]);
}

static void
test_strategic_puts_lists_in_the_order_of_the_patch(void **state)
{
	static const char *const cases[][3] = {
		/* The server's own item stays between its neighbours. */
		{ POD("[{'name':'a'},{'name':'s'},{'name':'b'}]"),
		  "{'spec':{'$setElementOrder/containers':[{'name':'b'},"
		  "{'name':'a'}]}}",
		  POD("[{'name':'s'},{'name':'b'},{'name':'a'}]") },
		{ POD("[{'name':'a'},{'name':'s'},{'name':'b'}]"),
		  "{'spec':{'$setElementOrder/containers':[{'name':'a'},"
		  "{'name':'c'},{'name':'b'}],'containers':[{'name':'c'},"
		  "{'name':'b','v':1}]}}",
		  POD("[{'name':'a'},{'name':'c'},{'name':'s'},"
		      "{'name':'b','v':1}]") },
		{ POD("[{'name':'a'},{'name':'b'}]"),
		  "{'spec':{'$setElementOrder/containers':[{'name':'b'}],"
		  "'containers':[{'name':'b'},"
		  "{'name':'a','$patch':'delete'}]}}",
		  POD("[{'name':'b'}]") },
		/* A new item takes the place of a deleted one. */
		{ POD("[{'name':'f'},{'name':'c'}]"),
		  "{'spec':{'$setElementOrder/containers':[{'name':'b'}],"
		  "'containers':[{'name':'f','$patch':'delete'},"
		  "{'name':'b'}]}}",
		  POD("[{'name':'c'},{'name':'b'}]") },
		{ "{'spec':{}}",
		  "{'spec':{'$setElementOrder/containers':[{'name':'a'}]}}",
		  "{'spec':{}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(HOW_STRATEGIC, cases[i][0], cases[i][1], cases[i][2]);
}

static void
test_strategic_retains_the_keys_it_is_told(void **state)
{
	(void)state;
	check(HOW_STRATEGIC,
	      "{'spec':{'strategy':{'type':'RollingUpdate','rollingUpdate':"
	      "{'x':1}}}}",
	      "{'spec':{'strategy':{'$retainKeys':['type'],'type':"
	      "'Recreate'}}}",
	      "{'spec':{'strategy':{'type':'Recreate'}}}");
	check_error(HOW_STRATEGIC, "{'spec':{'strategy':{'type':'x'}}}",
		    "{'spec':{'strategy':{'$retainKeys':['a'],'type':'y'}}}",
		    400, "invalid patch format of retainKeys");
	check_error(HOW_STRATEGIC, "{'spec':{}}", "{'$retainKeys':5}", 400,
		    "invalid patch format of retainKeys");
}

static void
test_strategic_errors(void **state)
{
	(void)state;
	check_error(HOW_STRATEGIC, "{}", "'x'", 400,
		    "error decoding patch: json: cannot unmarshal string into "
		    "Go value of type map[string]interface {}");
	check_error(HOW_STRATEGIC, POD("[{'name':'a'}]"),
		    POD("[{'image':'x'}]"), 500,
		    "map: map[image:x] does not contain declared merge key: "
		    "name");
	check_error(HOW_STRATEGIC, POD("[{'name':'a'}]"),
		    POD("[{'$patch':'delete'}]"), 500,
		    "map: map[$patch:delete] does not contain declared merge "
		    "key: name");
	check_error(HOW_STRATEGIC, POD("[{'name':'a'}]"),
		    POD("[{'$patch':'merge','name':'a'}]"), 500,
		    "merging lists cannot yet be specified in the patch");
	check_error(HOW_STRATEGIC, "{'spec':{'a':1}}",
		    "{'spec':{'$patch':'smash','b':[null]}}", 500,
		    "unknown patch type: smash in map: map[$patch:smash "
		    "b:[<nil>]]");
	check_error(HOW_STRATEGIC, POD("[{'name':'a'}]"), POD("['x']"), 500,
		    "list element types are not identical: "
		    "map[string]interface {} and string");
	check_error(HOW_STRATEGIC, POD("[['a']]"), POD("[['x']]"), REJECTED);
	check_error(HOW_STRATEGIC, "{'spec':{'keyless':[{'a':1}]}}",
		    "{'spec':{'keyless':[{'b':1}]}}", 500,
		    "cannot merge lists without merge key for type struct");
	check_error(HOW_STRATEGIC, POD("[{'name':'a'},{'name':'b'}]"),
		    "{'spec':{'$setElementOrder/containers':[{'name':'a'},"
		    "{'name':'b'}],'containers':[{'name':'b'},{'name':'a'}]}}",
		    500,
		    "The order in patch list:\n[map[name:b] map[name:a]]\n "
		    "doesn't match $setElementOrder list:\n[map[name:a] "
		    "map[name:b]]\n");
	check_error(HOW_STRATEGIC, "{}", "{'$setElementOrder':[]}", 400,
		    "invalid patch format of setElementOrder list");
	check_error(HOW_STRATEGIC, "{}", "{'$deleteFromPrimitiveList/x':5}",
		    400, "invalid patch format of primitive list");
	check_error(HOW_STRATEGIC, POD("[{'name':'a'}]"),
		    "{'spec':{'containers':[{'name':'a','v':1}],"
		    "'$deleteFromPrimitiveList/containers':[{'name':'a'}]}}",
		    400, "invalid patch format of primitive list");
}

static void
test_results_share_no_containers(void **state)
{
	AUTO(js_unref)
	json_t *target = testjson(POD("[{'name':'a','v':{'x':1}}]"));
	AUTO(js_unref)
	json_t *patch =
		testjson("{'spec':{'containers':[{'name':'b','v':{'y':1}}],"
			 "'m':{'n':{}}}}");
	AUTO(js_unref) json_t *before = json_deep_copy(patch);
	AUTO(js_unref) json_t *target_before = json_deep_copy(target);

	(void)state;
	for (enum how how = HOW_MERGE; how <= HOW_STRATEGIC; how++) {
		AUTO(status_done) struct status st = STATUS_INIT;
		AUTO(js_unref) json_t *result = apply(how, target, patch, &st);
		json_t *spec = json_object_get(result, "spec");
		json_t *item =
			json_array_get(json_object_get(spec, "containers"), 0);

		(void)json_object_clear(json_object_get(item, "v"));
		(void)json_object_set_new(
			json_object_get(json_object_get(spec, "m"), "n"), "z",
			json_true());
		(void)json_object_clear(result);
		assert_true(json_equal(patch, before));
		assert_true(json_equal(target, target_before));
	}
}

static void
test_large_lists_are_merged_in_linear_time(void **state)
{
	AUTO(js_unref) json_t *target = testjson(POD("[]"));
	AUTO(js_unref) json_t *patch = testjson(POD("[]"));
	AUTO(status_done) struct status st = STATUS_INIT;
	AUTO(js_unref) json_t *result = NULL;
	json_t *original =
		json_object_get(json_object_get(target, "spec"), "containers");
	json_t *changes =
		json_object_get(json_object_get(patch, "spec"), "containers");

	(void)state;
	/* 2 * 10^10 comparisons would not end within a test. */
	for (int i = 0; i < 200000; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "c%d", i);
		(void)json_array_append_new(original,
					    json_pack("{s:s}", "name", name));
		if (i % 2 == 0)
			(void)json_array_append_new(
				changes,
				json_pack("{s:s,s:i}", "name", name, "v", i));
	}
	result = apply(HOW_STRATEGIC, target, patch, &st);
	assert_non_null(result);
	assert_int_equal(js_size(result).nodes, 3 + 200000 * 2 + 100000);
	assert_int_equal(js_size(result).depth, 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_patch_operations),
		cmocka_unit_test(
			test_json_patches_that_do_not_apply_change_nothing),
		cmocka_unit_test(test_json_patches_cannot_grow_a_document),
		cmocka_unit_test(test_merge_patches),
		cmocka_unit_test(
			test_strategic_merges_maps_and_replaces_other_lists),
		cmocka_unit_test(test_strategic_merges_lists_by_key),
		cmocka_unit_test(test_strategic_merges_scalars_as_a_set),
		cmocka_unit_test(
			test_strategic_puts_lists_in_the_order_of_the_patch),
		cmocka_unit_test(test_strategic_retains_the_keys_it_is_told),
		cmocka_unit_test(test_strategic_errors),
		cmocka_unit_test(test_results_share_no_containers),
		cmocka_unit_test(test_large_lists_are_merged_in_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
