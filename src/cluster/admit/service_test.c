/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/service.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cluster/admit/testadmit.h"

static const struct service_ref ref = { "w", "svc", 443 };

static void
assert_resolves(struct world *w, unsigned turn, const char *expected)
{
	char text[SERVICE_ADDRESS_SIZE];
	struct service_address address;
	struct err err;

	if (service_resolve(w->store, &ref, turn, &address, &err) == -1)
		fail_msg("%s", err.text);
	service_address_text(&address, text);
	assert_string_equal(text, expected);
}

static void
assert_fails(struct world *w, enum err_kind kind, const char *text)
{
	struct service_address address;
	struct err err;

	assert_int_equal(service_resolve(w->store, &ref, 0, &address, &err),
			 -1);
	assert_int_equal(err.kind, kind);
	assert_string_equal(err.text, text);
}

static void
put_service(struct world *w, const char *spec)
{
	AUTO(js_unref)
	json_t *obj = world_parse("{'apiVersion':'v1','kind':'Service',"
				  "'metadata':{'name':'svc','namespace':'w'}}");

	(void)json_object_set_new(obj, "spec", world_parse(spec));
	world_put_json(w, "", "services", obj);
}

static void
put_endpoints(struct world *w, const char *subsets)
{
	AUTO(js_unref)
	json_t *obj = world_parse("{'apiVersion':'v1','kind':'Endpoints',"
				  "'metadata':{'name':'svc','namespace':'w'}}");

	(void)json_object_set_new(obj, "subsets", world_parse(subsets));
	world_put_json(w, "", "endpoints", obj);
}

static void
test_endpoints_come_before_the_cluster_address(void **state)
{
	struct world *w = *state;

	put_service(w, "{'clusterIP':'10.0.0.9','ports':["
		       "{'name':'web','port':443,'targetPort':8443}]}");
	assert_resolves(w, 0, "10.0.0.9:443");
	put_endpoints(w, "[{'addresses':[{'ip':'10.1.0.1'},{'ip':'10.1.0.2'}],"
			 "'ports':[{'name':'web','port':8443}]},"
			 "{'addresses':[{'ip':'fd00::1'}],"
			 "'ports':[{'name':'web','port':9443}]},"
			 "{'addresses':[{'ip':'10.1.0.9'}],"
			 "'ports':[{'name':'other','port':1}]}]");
	assert_resolves(w, 0, "10.1.0.1:8443");
	assert_resolves(w, 1, "10.1.0.2:8443");
	assert_resolves(w, 2, "[fd00::1]:9443");
	assert_resolves(w, 3, "10.1.0.1:8443");
	put_endpoints(w, "[{'notReadyAddresses':[{'ip':'10.1.0.1'}],"
			 "'ports':[{'name':'web','port':8443}]}]");
	assert_resolves(w, 0, "10.0.0.9:443");
}

static void
test_an_external_name_is_taken_as_it_is(void **state)
{
	struct world *w = *state;

	put_service(w, "{'type':'ExternalName','externalName':'a.example'}");
	assert_resolves(w, 0, "a.example:443");
}

static void
test_what_cannot_be_reached_says_why(void **state)
{
	struct world *w = *state;

	assert_fails(w, ERR_NOT_FOUND, "service \"svc\" not found");
	put_service(w, "{'clusterIP':'10.0.0.9','ports':[{'port':80}]}");
	assert_fails(w, ERR_INVALID,
		     "no service port 443 found for service \"svc\"");
	put_service(w, "{'clusterIP':'None','ports':[{'port':443}]}");
	assert_fails(w, ERR_UNAVAILABLE,
		     "no endpoints available for service \"svc\"");
}

static void
test_a_bundle_is_decoded_or_none(void **state)
{
	AUTO(js_unref) json_t *good = world_parse("{'caBundle':'YWJj'}");
	AUTO(js_unref) json_t *bad = world_parse("{'caBundle':'%%'}");
	char *pem = service_bundle(good);

	(void)state;
	assert_string_equal(pem, "abc");
	free(pem);
	assert_null(service_bundle(bad));
	assert_null(service_bundle(NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_endpoints_come_before_the_cluster_address,
			world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(
			test_an_external_name_is_taken_as_it_is, world_set_up,
			world_tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_cannot_be_reached_says_why, world_set_up,
			world_tear_down),
		cmocka_unit_test(test_a_bundle_is_decoded_or_none),
	};

	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
