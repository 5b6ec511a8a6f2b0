/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/registration.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/admit/testadmit.h"

#define HOOKS "admissionregistration.k8s.io"
#define VALIDATING "validatingwebhookconfigurations"
#define GOOD "'admissionReviewVersions':['v1'],'sideEffects':'None'"
#define AT "'clientConfig':{'url':'https://h.example/x'}"

static void
assert_checked(struct world *w, const char *group, const char *plural,
	       const char *text, const char *message)
{
	struct admission_request req = world_create(w, group, plural, text);
	AUTO(status_done) struct status st = STATUS_INIT;
	int result;

	assert_true(registration_concerns(&req));
	result = registration_check(&req, &st);
	if (message == NULL) {
		if (result == -1)
			fail_msg("%s", st.message);
	} else {
		assert_int_equal(result, -1);
		assert_int_equal(st.code, 422);
		assert_string_equal(st.message, message);
	}
	world_request_done(&req);
}

static const struct {
	const char *hook;
	const char *causes; /* NULL: it is fine */
} webhooks[] = {
	{ "{'name':'a.b.c'," GOOD "," AT "}", NULL },
	{ "{'name':'a.b.c'," GOOD ",'clientConfig':{'service':"
	  "{'namespace':'n','name':'s'}}}",
	  NULL },
	{ "{'name':'a.b'," GOOD "," AT "}",
	  "webhooks[0].name: Invalid value: \"a.b\": should be a "
	  "domain with at least three segments separated by dots" },
	{ "{'name':'a.b.c'," GOOD ",'clientConfig':{}}",
	  "webhooks[0].clientConfig: Required value: exactly one of "
	  "url or service is required" },
	{ "{'name':'a.b.c'," GOOD ",'clientConfig':{'url':'https://h',"
	  "'service':{'namespace':'n','name':'s'}}}",
	  "webhooks[0].clientConfig: Required value: exactly one of "
	  "url or service is required" },
	{ "{'name':'a.b.c'," GOOD ",'clientConfig':{'url':"
	  "'http://h'}}",
	  "webhooks[0].clientConfig.url: Invalid value: \"http\": "
	  "'https' is the only allowed URL scheme; desired format: "
	  "https://host[/path]" },
	{ "{'name':'a.b.c'," GOOD ",'clientConfig':{'url':"
	  "'https:///x'}}",
	  "webhooks[0].clientConfig.url: Invalid value: \"\": host "
	  "must be specified; desired format: https://host[/path]" },
	{ "{'name':'a.b.c'," GOOD ",'clientConfig':{'url':"
	  "'https://h/?a=b'}}",
	  "webhooks[0].clientConfig.url: Invalid value: \"a=b\": "
	  "query parameters are not permitted in the URL; desired "
	  "format: https://host[/path]" },
	{ "{'name':'a.b.c'," GOOD ",'clientConfig':{'service':"
	  "{'namespace':'n','name':'s','port':0}}}",
	  "webhooks[0].clientConfig.service.port: Invalid value: 0: "
	  "port is not valid: must be between 1 and 65535, "
	  "inclusive" },
	{ "{'name':'a.b.c'," GOOD ",'clientConfig':{'url':'https://h',"
	  "'caBundle':'eA=='}}",
	  "webhooks[0].clientConfig.caBundle: Invalid value: "
	  "\"eA==\": unable to load root certificates: unable to "
	  "parse bytes as PEM block" },
	{ "{'name':'a.b.c','admissionReviewVersions':['v1'],"
	  "'sideEffects':'Some'," AT "}",
	  "webhooks[0].sideEffects: Unsupported value: \"Some\": "
	  "supported values: \"None\", \"NoneOnDryRun\"" },
	{ "{'name':'a.b.c','admissionReviewVersions':['v0'],"
	  "'sideEffects':'None'," AT "}",
	  "webhooks[0].admissionReviewVersions: Invalid value: "
	  "[]string{\"v0\"}: must include at least one of v1, "
	  "v1beta1" },
	{ "{'name':'a.b.c'," GOOD "," AT
	  ",'matchConditions':[{'name':'x','expression':'true'}]}",
	  "webhooks[0].matchConditions: Forbidden: match conditions "
	  "are not supported by this server" },
	{ "{'name':'a.b.c'," GOOD "," AT ",'rules':[{'operations':"
	  "['CREATE'],'apiGroups':[''],'apiVersions':['*'],"
	  "'resources':['pods']}]}",
	  NULL },
	{ "{'name':'a.b.c'," GOOD "," AT ",'rules':[{'operations':"
	  "['*','CREATE'],'apiGroups':[],'apiVersions':['v1'],"
	  "'resources':['pods']}]}",
	  "[webhooks[0].rules[0].operations: Invalid value: "
	  "[]string{\"*\", \"CREATE\"}: if '*' is present, must not "
	  "specify other operations, webhooks[0].rules[0].apiGroups: "
	  "Required value]" },
	{ "{'name':'a.b.c'," GOOD "," AT ",'rules':[{'operations':"
	  "['READ'],'apiGroups':['*'],'apiVersions':['v1'],"
	  "'resources':[]}]}",
	  "[webhooks[0].rules[0].operations[0]: Unsupported value: "
	  "\"READ\": supported values: \"*\", \"CONNECT\", "
	  "\"CREATE\", \"DELETE\", \"UPDATE\", "
	  "webhooks[0].rules[0].resources: Required value]" },
	{ "{'name':'a.b.c'," GOOD "," AT "},{'name':'a.b.c'," GOOD "," AT "}",
	  "webhooks[1].name: Duplicate value: \"a.b.c\"" },
};

static void
test_webhooks_that_cannot_work_are_refused(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(webhooks); i++) {
		AUTO(free_ptr)
		char *text =
			xasprintf("{'metadata':{'name':'c'},'webhooks':[%s]}",
				  webhooks[i].hook);
		AUTO(free_ptr) char *message = NULL;

		if (webhooks[i].causes != NULL)
			message = xasprintf(
				"ValidatingWebhookConfiguration." HOOKS
				" \"c\" is invalid: %s",
				webhooks[i].causes);
		assert_checked(w, HOOKS, VALIDATING, text, message);
	}
}

#define PRIORITIES "'groupPriorityMinimum':1000,'versionPriority':15"
#define SERVICE "'service':{'namespace':'n','name':'s'}"
#define WRONG "APIService.apiregistration.k8s.io \"v1.g\" is invalid: "

static void
test_apiservices_that_cannot_work_are_refused(void **state)
{
	struct world *w = *state;

	assert_checked(w, "apiregistration.k8s.io", "apiservices",
		       "{'metadata':{'name':'v1.g'},'spec':{'group':'g',"
		       "'version':'v1'," PRIORITIES "," SERVICE "}}",
		       NULL);
	assert_checked(w, "apiregistration.k8s.io", "apiservices",
		       "{'metadata':{'name':'v1.g'},'spec':{'group':'h',"
		       "'version':'v1'," PRIORITIES "," SERVICE "}}",
		       WRONG "metadata.name: Invalid value: \"v1.g\": must be "
			     "`spec.version+\".\"+spec.group`: \"v1.h\"");
	assert_checked(w, "apiregistration.k8s.io", "apiservices",
		       "{'metadata':{'name':'v1.g'},'spec':{'group':'g',"
		       "'version':'v1','groupPriorityMinimum':20001,"
		       "'versionPriority':15}}",
		       WRONG "spec.groupPriorityMinimum: Invalid value: 20001: "
			     "must be positive and less than 20000");
	assert_checked(w, "apiregistration.k8s.io", "apiservices",
		       "{'metadata':{'name':'v1.g'},'spec':{'group':'g',"
		       "'version':'v1'," PRIORITIES ",'service':{'name':'s'}}}",
		       WRONG "spec.service.namespace: Required value: service "
			     "namespace is required");
}

static void
test_other_requests_are_no_concern(void **state)
{
	struct world *w = *state;
	struct admission_request req =
		world_create(w, "", "configmaps", "{'metadata':{}}");

	assert_false(registration_concerns(&req));
	world_request_done(&req);
	req = world_create(w, HOOKS, VALIDATING, "{'metadata':{}}");
	req.op = ADMISSION_DELETE;
	assert_false(registration_concerns(&req));
	world_request_done(&req);
}

#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_webhooks_that_cannot_work_are_refused),
		CASE(test_apiservices_that_cannot_work_are_refused),
		CASE(test_other_requests_are_no_concern),
	};

	return cmocka_run_group_tests_name("registration", tests, NULL, NULL);
}
