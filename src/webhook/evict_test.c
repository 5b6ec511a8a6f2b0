/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/evict.h"

#include "api/config.h"
#include "api/pod.h"
#include "api/testjson.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/cleanup.h"

#define META "'metadata': {'name': 'm', 'namespace': 'n'}"
#define CAN "'conditions': [{'type': 'LiveMigratable', 'status': 'True'}]"
#define CANNOT "'conditions': [{'type': 'LiveMigratable', 'status': 'False'}]"

static const struct {
	const char *strategy; /* of the machine */
	const char *cluster;  /* the cluster's */
	const char *status;
	enum evict what;
	const char *message;
	const char *node; /* the machine's; NULL: that of the pod */
} cases[] = {
	{ "LiveMigrate", "", CAN, EVICT_MARK, "", NULL },
	{ "LiveMigrate", "", CANNOT, EVICT_REFUSE,
	  "VMI m is configured with an eviction strategy but is not "
	  "live-migratable",
	  NULL },
	/* Nobody has said yet that it can. */
	{ "LiveMigrate", "", "'conditions': []", EVICT_REFUSE,
	  "VMI m is configured with an eviction strategy but is not "
	  "live-migratable",
	  NULL },
	{ "LiveMigrateIfPossible", "", CAN, EVICT_MARK, "", NULL },
	{ "LiveMigrateIfPossible", "", CANNOT, EVICT_ALLOW, "", NULL },
	{ "External", "", CANNOT, EVICT_MARK, "", NULL },
	{ "None", "LiveMigrate", CAN, EVICT_ALLOW, "", NULL },
	{ "", "LiveMigrate", CAN, EVICT_MARK, "", NULL },
	{ "", "", CAN, EVICT_ALLOW, "", NULL },
	{ "LiveMigrate", "", CAN ", 'evacuationNodeName': 'n1'", EVICT_REFUSE,
	  "Evacuation in progress: Eviction triggered evacuation of VMI "
	  "\"n/m\"",
	  NULL },
	{ "LiveMigrate", "", CAN, EVICT_REFUSE,
	  "Eviction request for target Pod", "n2" },
};

static void
check(size_t i)
{
	AUTO(free_ptr)
	char *machine = xasprintf("{" META ", 'spec': {'evictionStrategy': "
				  "'%s'}, 'status': {'nodeName': '%s', %s}}",
				  cases[i].strategy,
				  cases[i].node == NULL ? "n1" : cases[i].node,
				  cases[i].status);
	AUTO(js_unref) json_t *vmi_json = testjson(machine);
	AUTO(js_unref)
	json_t *pod_json = testjson("{" META ", 'spec': {'nodeName': 'n1'}}");
	AUTO(free_ptr)
	char *cluster = xasprintf("{" META ", 'spec': {'configuration': "
				  "{'evictionStrategy': '%s'}}}",
				  cases[i].cluster);
	AUTO(js_unref) json_t *kubevirt = testjson(cluster);
	AUTO(status_done) struct status st = STATUS_INIT;
	struct err err;
	AUTO(vmi_unref) struct vmi *vmi = vmi_decode(vmi_json, &err);
	AUTO(pod_unref) struct pod *pod = pod_decode(pod_json, &err);
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(kubevirt, &err);

	assert_int_equal(evict_decide(pod, vmi, config, &st), cases[i].what);
	if (cases[i].what == EVICT_REFUSE) {
		assert_int_equal(st.code, 429);
		assert_null(st.reason);
		assert_string_equal(st.message, cases[i].message);
	}
}

static void
test_the_strategy_decides(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(i);
}

static void
assert_patch(const char *vmi, bool descheduler, const char *expected)
{
	AUTO(js_unref) json_t *object = testjson(vmi);
	AUTO(js_unref) json_t *patch = evict_patch(object, descheduler);
	AUTO(js_unref) json_t *should = testjson(expected);

	assert_true(json_equal(patch, should));
}

static void
test_a_mark_is_for_the_node_that_it_is_on(void **state)
{
	(void)state;
	assert_patch("{'metadata': {}, 'status': {'nodeName': 'n1'}}", false,
		     "[{'op': 'test', 'path': '/status/nodeName', 'value': "
		     "'n1'}, {'op': 'add', 'path': "
		     "'/status/evacuationNodeName', 'value': 'n1'}]");
	assert_patch("{'metadata': {}, 'status': {'nodeName': 'n1'}}", true,
		     "[{'op': 'test', 'path': '/status/nodeName', 'value': "
		     "'n1'}, {'op': 'add', 'path': "
		     "'/status/evacuationNodeName', 'value': 'n1'}, "
		     "{'op': 'add', 'path': '/metadata/annotations', 'value': "
		     "{}}, {'op': 'add', 'path': '/metadata/annotations/"
		     "kubevirt.io~1eviction-source', 'value': 'descheduler'}]");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_strategy_decides),
		cmocka_unit_test(test_a_mark_is_for_the_node_that_it_is_on),
	};

	js_init();
	return cmocka_run_group_tests_name("evict", tests, NULL, NULL);
}
