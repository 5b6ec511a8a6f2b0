/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/hook.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/admit/testadmit.h"

#define ADMISSION "admissionregistration.k8s.io"

static struct hook_config *
config_of(const char *webhook)
{
	AUTO(free_ptr)
	char *text =
		xasprintf("{'metadata':{'name':'c'},'webhooks':[%s]}", webhook);
	AUTO(js_unref) json_t *obj = world_parse(text);
	struct hook_config *config = hook_config_new(obj, true);

	assert_int_equal(config->count, 1);
	return config;
}

static int
matches(struct world *w, const char *webhook,
	const struct admission_request *req, const char **ret_version)
{
	struct hook_config *config = config_of(webhook);
	const struct kind_version *version = NULL;
	AUTO(status_done) struct status st = STATUS_INIT;
	int result =
		hook_matches(&config->hooks[0], w->store, req, &version, &st);

	*ret_version = version != NULL ? version->name : "";
	hook_config_unref(config);
	return result;
}

#define RULE(ops, group, version, resources, scope)                         \
	"{'name':'h','rules':[{'operations':[" ops "],'apiGroups':['" group \
	"'],'apiVersions':['" version "'],'resources':[" resources          \
	"],'scope':'" scope "'}]}"

static void
test_rules_choose_requests(void **state)
{
	static const struct {
		const char *webhook;
		const char *subresource;
		int matches;
	} rows[] = {
		{ RULE("'CREATE'", "", "v1", "'pods'", "*"), "", 1 },
		{ RULE("'*'", "*", "*", "'*'", "*"), "", 1 },
		{ RULE("'*'", "*", "*", "'*/*'", "*"), "", 1 },
		{ RULE("'UPDATE','DELETE'", "", "v1", "'pods'", "*"), "", 0 },
		{ RULE("'CREATE'", "apps", "v1", "'pods'", "*"), "", 0 },
		{ RULE("'CREATE'", "", "v2", "'pods'", "*"), "", 0 },
		{ RULE("'CREATE'", "", "v1", "'podsx','po'", "*"), "", 0 },
		{ RULE("'CREATE'", "", "v1", "'pods'", "Namespaced"), "", 1 },
		{ RULE("'CREATE'", "", "v1", "'pods'", "Cluster"), "", 0 },
		{ RULE("'CREATE'", "", "v1", "'pods'", "*"), "eviction", 0 },
		{ RULE("'CREATE'", "", "v1", "'*'", "*"), "eviction", 0 },
		{ RULE("'CREATE'", "", "v1", "'pods/eviction'", "*"),
		  "eviction", 1 },
		{ RULE("'CREATE'", "", "v1", "'pods/*'", "*"), "eviction", 1 },
		{ RULE("'CREATE'", "", "v1", "'*/eviction'", "*"), "eviction",
		  1 },
		{ RULE("'CREATE'", "", "v1", "'*/*'", "*"), "eviction", 1 },
		{ RULE("'CREATE'", "", "v1", "'*/status'", "*"), "eviction",
		  0 },
		{ RULE("'CREATE'", "", "v1", "'pods/eviction'", "*"), "", 0 },
		{ "{'name':'h'}", "", 0 },
		{ "{'name':'h','rules':[{}]}", "", 0 },
	};
	struct world *w = *state;
	struct admission_request req = world_create(
		w, "", "pods", "{'metadata':{'name':'p','namespace':'w'}}");
	const char *version;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		req.subresource = rows[i].subresource;
		if (matches(w, rows[i].webhook, &req, &version) !=
		    rows[i].matches)
			fail_msg("%zu: %s", i, rows[i].webhook);
	}
	world_request_done(&req);
}

#define ALL                                                                   \
	"'rules':[{'operations':['*'],'apiGroups':['*'],'apiVersions':['*']," \
	"'resources':['*']}]"

static void
test_selectors_look_at_namespace_and_either_object(void **state)
{
	static const struct {
		const char *webhook;
		int matches;
	} rows[] = {
		{ "{'name':'h'," ALL
		  ",'namespaceSelector':{'matchLabels':{'team':'red'}}}",
		  1 },
		{ "{'name':'h'," ALL
		  ",'namespaceSelector':{'matchLabels':{'team':'blue'}}}",
		  0 },
		{ "{'name':'h'," ALL ",'namespaceSelector':{}}", 1 },
		{ "{'name':'h'," ALL
		  ",'objectSelector':{'matchLabels':{'is':'new'}}}",
		  1 },
		{ "{'name':'h'," ALL
		  ",'objectSelector':{'matchLabels':{'is':'old'}}}",
		  1 },
		{ "{'name':'h'," ALL
		  ",'objectSelector':{'matchLabels':{'is':'else'}}}",
		  0 },
		{ "{'name':'h'," ALL ",'objectSelector':{}}", 1 },
	};
	struct world *w = *state;
	struct admission_request req;
	const char *version;

	world_put(w, "", "configmaps",
		  "{'metadata':{'name':'m','namespace':'w',"
		  "'labels':{'is':'old'}}}");
	req = world_update(w, "", "configmaps",
			   "{'metadata':{'name':'m','namespace':'w',"
			   "'labels':{'is':'new'}}}");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (matches(w, rows[i].webhook, &req, &version) !=
		    rows[i].matches)
			fail_msg("%zu: %s", i, rows[i].webhook);
	}
	world_request_done(&req);
}

static void
test_a_namespace_is_selected_by_its_own_labels(void **state)
{
	static const char red[] =
		"{'name':'h'," ALL
		",'namespaceSelector':{'matchLabels':{'team':'red'}}}";
	struct world *w = *state;
	struct admission_request req = world_create(
		w, "", "namespaces",
		"{'metadata':{'name':'n','labels':{'team':'red'}}}");
	const char *version;

	assert_int_equal(matches(w, red, &req, &version), 1);
	world_request_done(&req);
	req = world_create(w, "", "namespaces", "{'metadata':{'name':'n'}}");
	assert_int_equal(matches(w, red, &req, &version), 0);
	world_request_done(&req);
	/* What is in no namespace is selected by none. */
	req = world_create(w, "", "nodes", "{'metadata':{'name':'n'}}");
	assert_int_equal(matches(w, red, &req, &version), 1);
	world_request_done(&req);
}

static void
test_an_equivalent_version_is_asked_for_unless_exact(void **state)
{
	static const char equivalent[] =
		RULE("'*'", "policy", "v1", "'poddisruptionbudgets'", "*");
	static const char exact[] =
		"{'name':'h','matchPolicy':'Exact','rules':[{'operations':"
		"['*'],'apiGroups':['policy'],'apiVersions':['v1'],"
		"'resources':['poddisruptionbudgets']}]}";
	struct world *w = *state;
	struct admission_request req =
		world_create(w, "policy", "poddisruptionbudgets",
			     "{'metadata':{'name':'b','namespace':'w'}}");
	const char *version;

	req.version = kind_version_find(req.kind, "v1");
	assert_int_equal(matches(w, exact, &req, &version), 1);
	req.version = kind_version_find(req.kind, "v1beta1");
	assert_non_null(req.version);
	assert_int_equal(matches(w, equivalent, &req, &version), 1);
	assert_string_equal(version, "v1");
	assert_int_equal(matches(w, exact, &req, &version), 0);
	world_request_done(&req);
}

static void
test_what_is_not_said_has_kubernetes_defaults(void **state)
{
	struct hook_config *config = config_of(
		"{'name':'h','clientConfig':{'service':{'namespace':'n',"
		"'name':'s','path':'mutate'}},'sideEffects':'None'}");
	const struct hook *hook = &config->hooks[0];

	(void)state;
	assert_true(hook->fails_closed);
	assert_false(hook->reinvoked);
	assert_false(hook->exact);
	assert_true(hook->no_side_effects);
	assert_true(hook->speaks_v1);
	assert_int_equal(hook->timeout_s, 10);
	assert_string_equal(hook->url, "https://s.n.svc:443/mutate");
	assert_int_equal(hook->service_port, 443);
	hook_config_unref(config);
}

static void
test_configurations_are_followed_in_order_of_their_names(void **state)
{
	struct world *w = *state;
	struct hooks *hooks;
	struct hook_set *before, *after;

	world_put(w, ADMISSION, "validatingwebhookconfigurations",
		  "{'metadata':{'name':'m'},"
		  "'webhooks':[{'name':'m1'},{'name':'m2'}]}");
	world_settle(w);
	hooks = hooks_new(w->store, "validatingwebhookconfigurations");
	before = hooks_set(hooks);
	assert_int_equal(before->count, 2);
	world_put(w, ADMISSION, "validatingwebhookconfigurations",
		  "{'metadata':{'name':'z'},'webhooks':[{'name':'z1'}]}");
	world_put(w, ADMISSION, "validatingwebhookconfigurations",
		  "{'metadata':{'name':'a'},'webhooks':[{'name':'a1'}]}");
	world_put(w, ADMISSION, "validatingwebhookconfigurations",
		  "{'metadata':{'name':'m'},'webhooks':[{'name':'m3'}]}");
	world_put(w, ADMISSION, "mutatingwebhookconfigurations",
		  "{'metadata':{'name':'b'},'webhooks':[{'name':'b1'}]}");
	world_settle(w);
	after = hooks_set(hooks);
	assert_int_equal(after->count, 3);
	assert_string_equal(after->hooks[0]->name, "a1");
	assert_string_equal(after->hooks[1]->name, "m3");
	assert_string_equal(after->hooks[2]->name, "z1");
	assert_false(after->hooks[0]->mutating);
	/* Whoever holds the old one still has it. */
	assert_string_equal(before->hooks[1]->name, "m2");
	hook_set_unref(before);
	hook_set_unref(after);
	world_remove(w, ADMISSION, "validatingwebhookconfigurations", "", "m");
	world_settle(w);
	after = hooks_set(hooks);
	assert_int_equal(after->count, 2);
	hooks_free(hooks);
	hook_set_unref(after);
}

#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_rules_choose_requests),
		CASE(test_selectors_look_at_namespace_and_either_object),
		CASE(test_a_namespace_is_selected_by_its_own_labels),
		CASE(test_an_equivalent_version_is_asked_for_unless_exact),
		cmocka_unit_test(test_what_is_not_said_has_kubernetes_defaults),
		CASE(test_configurations_are_followed_in_order_of_their_names),
	};

	return cmocka_run_group_tests_name("hook", tests, NULL, NULL);
}
