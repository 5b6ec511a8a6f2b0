/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/test.h"
#include "cluster/server/registration.h"
#include "cluster/server/strategy.h"
#include "meta/causes.h"

static const char hook[] =
	"{\"webhooks\":[{\"name\":\"a.b.c\",\"sideEffects\":\"None\","
	"\"admissionReviewVersions\":[\"v1\"],\"clientConfig\":{\"url\":"
	"\"https://host:1/path\"},\"rules\":[{\"operations\":[\"*\"],"
	"\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"resources\":"
	"[\"pods\",\"pods/status\"]}]}]}";

typedef void validate_fn(const struct strategy_env *env, json_t *object,
			 const json_t *old, struct causes *causes);

/* The causes for an object; to be freed. "" when all is well. */
static char *
judge(validate_fn *validate, json_t *object)
{
	static const struct strategy_env env;
	struct causes causes = CAUSES_INIT;
	char *text;

	validate(&env, object, NULL, &causes);
	text = causes_count(&causes) == 0 ? strdup("") : causes_text(&causes);
	causes_done(&causes);
	return text;
}

static void
check_hook(const char *change, const char *wanted)
{
	json_t *object = json_loads(hook, 0, NULL);
	json_t *changes = json_loads(change, 0, NULL);
	char *text;

	assert_non_null(object);
	assert_non_null(changes);
	json_object_update(
		json_array_get(json_object_get(object, "webhooks"), 0),
		changes);
	text = judge(registration_validate_webhooks, object);
	assert_string_equal(text, wanted);
	free(text);
	json_decref(changes);
	json_decref(object);
}

static void
test_webhooks_are_checked(void **state)
{
	(void)state;
	check_hook("{}", "");
	check_hook("{\"name\":\"a.b\"}",
		   "webhooks[0].name: Invalid value: \"a.b\": should be a "
		   "domain with at least three segments separated by dots");
	check_hook("{\"sideEffects\":\"Some\"}",
		   "webhooks[0].sideEffects: Unsupported value: \"Some\": "
		   "supported values: \"None\", \"NoneOnDryRun\"");
	check_hook("{\"admissionReviewVersions\":[\"v0\"]}",
		   "webhooks[0].admissionReviewVersions: Invalid value: "
		   "[]string{\"v0\"}: must include at least one of v1, "
		   "v1beta1");
	check_hook("{\"clientConfig\":{}}",
		   "webhooks[0].clientConfig: Required value: exactly one of "
		   "url or service is required");
	check_hook("{\"clientConfig\":{\"url\":\"http://x\"}}",
		   "webhooks[0].clientConfig.url: Invalid value: \"http://x\": "
		   "'https' is the only allowed URL scheme; desired format: "
		   "https://host[/path]");
	check_hook("{\"rules\":[{\"operations\":[],\"apiGroups\":[\"\"],"
		   "\"apiVersions\":[\"*\"],\"resources\":[\"*\"]}]}",
		   "webhooks[0].rules[0].operations: Required value");
}

static void
test_two_webhooks_have_two_names(void **state)
{
	json_t *object = json_loads(hook, 0, NULL);
	json_t *hooks = json_object_get(object, "webhooks");
	char *text;

	(void)state;
	json_array_append(hooks, json_array_get(hooks, 0));
	text = judge(registration_validate_webhooks, object);
	assert_string_equal(text,
			    "webhooks[1].name: Duplicate value: \"a.b.c\"");
	free(text);
	json_decref(object);
}

static void
test_apiservices_are_checked(void **state)
{
	static const struct {
		const char *object, *wanted;
	} cases[] = {
		{ "{\"metadata\":{\"name\":\"v1.g\"},\"spec\":{\"group\":\"g\","
		  "\"version\":\"v1\",\"groupPriorityMinimum\":1,"
		  "\"versionPriority\":1}}",
		  "" },
		{ "{\"metadata\":{\"name\":\"v1.h\"},\"spec\":{\"group\":\"g\","
		  "\"version\":\"v1\",\"groupPriorityMinimum\":20000,"
		  "\"versionPriority\":1000}}",
		  "metadata.name: Invalid value: \"v1.h\": must be "
		  "`spec.version+\".\"+spec.group`: \"v1.g\"" },
		{ "{\"metadata\":{\"name\":\"v1.g\"},\"spec\":{\"group\":\"g\","
		  "\"version\":\"v1\",\"groupPriorityMinimum\":0,"
		  "\"versionPriority\":1,\"service\":{\"name\":\"s\","
		  "\"namespace\":\"n\"}}}",
		  "spec.groupPriorityMinimum: Invalid value: 0: must be "
		  "positive and less than 20000" },
		{ "{\"metadata\":{\"name\":\"v1.g\"},\"spec\":{\"group\":\"g\","
		  "\"version\":\"v1\",\"groupPriorityMinimum\":1,"
		  "\"versionPriority\":1,\"service\":{\"name\":\"s\"}}}",
		  "spec.service.namespace: Required value" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *object = json_loads(cases[i].object, 0, NULL);
		char *text = judge(registration_validate_apiservice, object);

		assert_string_equal(text, cases[i].wanted);
		free(text);
		json_decref(object);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_webhooks_are_checked),
		cmocka_unit_test(test_two_webhooks_have_two_names),
		cmocka_unit_test(test_apiservices_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
