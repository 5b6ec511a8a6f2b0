/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/plan.h"

#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"

/* A question about "m"; objects with ' for ", NULL where there is none. */
struct question {
	plan_fn *plan;
	const char *vm, *vmi, *options, *pods, *node;
	bool no_body;
};

struct answer {
	struct plan *plan;
	struct status st;
	char *text; /* the plan: kinds and bodies; "" when it is refused */
};

static const char *const kind_names[] = {
	[STEP_PATCH_VM] = "vm",    [STEP_PATCH_VM_STATUS] = "vm/status",
	[STEP_PATCH_VMI] = "vmi",  [STEP_CREATE_MIGRATION] = "migration",
	[STEP_DELETE_POD] = "pod", [STEP_PAUSE] = "pause",
};

static json_t *
maybe(const char *text)
{
	return text == NULL ? NULL : testjson(text);
}

static char *
describe(const struct plan *plan)
{
	char *text = xstrdup("");

	for (size_t i = 0; plan != NULL && i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		AUTO(free_ptr)
		char *body =
			json_is_boolean(step->body)
				? xstrdup(json_is_true(step->body) ? "true"
								   : "false")
				: js_text(step->body);
		char *more =
			xasprintf("%s%s%s%s %s", text, i == 0 ? "" : "; ",
				  kind_names[step->kind],
				  step->name == NULL ? "" : " (pod)", body);

		free(text);
		text = more;
	}
	for (char *at = text; *at != '\0'; at++) {
		if (*at == '"')
			*at = '\'';
	}
	return text;
}

static void
ask(const struct question *q, struct answer *ret)
{
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(NULL, &err);
	AUTO(js_unref) json_t *vm = maybe(q->vm);
	AUTO(js_unref) json_t *vmi = maybe(q->vmi);
	AUTO(js_unref) json_t *pods = maybe(q->pods);
	AUTO(js_unref) json_t *node = maybe(q->node);
	AUTO(js_unref)
	json_t *options = testjson(q->options == NULL ? "{}" : q->options);
	const struct plan_facts facts = {
		.name = "m",
		.options = options,
		.has_body = !q->no_body,
		.vm = vm,
		.vmi = vmi,
		.pods = pods,
		.node = node,
		.config = config,
	};

	ret->st = STATUS_INIT;
	ret->plan = q->plan(&facts, &ret->st);
	ret->text = describe(ret->plan);
}

static void
answer_done(struct answer *answer)
{
	plan_free(answer->plan);
	status_done(&answer->st);
	free(answer->text);
}

#define META                                                       \
	"'metadata': {'name': 'm', 'namespace': 'n', 'uid': 'u', " \
	"'resourceVersion': '7'}"
#define VM(strategy) "{" META ", 'spec': {'runStrategy': '" strategy "'}}"
#define VM_ST(strategy, status)                         \
	"{" META ", 'spec': {'runStrategy': '" strategy \
	"'}, 'status': " status "}"
#define VMI(phase)                                                   \
	"{" META ", 'spec': {'terminationGracePeriodSeconds': 30}, " \
	"'status': {'phase': '" phase "', 'nodeName': 'n1'}}"
#define ASKED_NEW(requests)                                           \
	"vm/status [{'op':'test','path':'/metadata/resourceVersion'," \
	"'value':'7'},{'op':'add','path':'/status',"                  \
	"'value':{'stateChangeRequests':" requests "}}]"
#define STOP "{'action':'Stop','uid':'u'}"
#define START "{'action':'Start'}"

static const struct {
	struct question question;
	int code;
	const char *text; /* of the plan */
} plans[] = {
	{ { plan_start, VM("Halted"), NULL, NULL, NULL, NULL, false },
	  202,
	  "vm [{'op':'test','path':'/spec/runStrategy','value':'Halted'},"
	  "{'op':'replace','path':'/spec/runStrategy','value':'Always'}]" },
	{ { plan_start, "{" META ", 'spec': {'running': false}}", NULL, NULL,
	    NULL, NULL, false },
	  202,
	  "vm [{'op':'test','path':'/spec/running','value':false},"
	  "{'op':'replace','path':'/spec/running','value':true}]" },
	{ { plan_start, VM("Manual"), NULL, NULL, NULL, NULL, false },
	  202,
	  ASKED_NEW("[" START "]") },
	{ { plan_start, VM("Manual"), VMI("Failed"), NULL, NULL, NULL, false },
	  202,
	  ASKED_NEW("[" STOP "," START "]") },
	{ { plan_start, VM_ST("Manual", "{'startFailure': {}, 'ready': true}"),
	    NULL, "{'paused': true}", NULL, NULL, false },
	  202,
	  "vm/status [{'op':'test','path':'/metadata/resourceVersion',"
	  "'value':'7'},{'op':'add','path':'/status/stateChangeRequests',"
	  "'value':[{'action':'Start','data':{'paused':'true'}}]},"
	  "{'op':'remove','path':'/status/startFailure'}]" },
	{ { plan_stop,
	    VM_ST("Manual", "{'stateChangeRequests': [{'action': 'Start'}]}"),
	    VMI("Running"), NULL, NULL, NULL, false },
	  202,
	  "vm/status [{'op':'test','path':'/status/stateChangeRequests',"
	  "'value':[" START "]},{'op':'replace','path':"
	  "'/status/stateChangeRequests','value':[" STOP "]}]" },
	{ { plan_stop, VM("Always"), VMI("Running"), "{'gracePeriod': 5}", NULL,
	    NULL, false },
	  202,
	  "vmi [{'op':'test','path':'/spec/terminationGracePeriodSeconds',"
	  "'value':30},{'op':'replace','path':"
	  "'/spec/terminationGracePeriodSeconds','value':5}]; "
	  "vm [{'op':'test','path':'/spec/runStrategy','value':'Always'},"
	  "{'op':'replace','path':'/spec/runStrategy','value':'Halted'}]" },
	{ { plan_restart, VM("Always"), VMI("Running"),
	    "{'gracePeriodSeconds': 0}",
	    "{'items': [{'metadata': {'name': 'p'}}]}", NULL, false },
	  202,
	  ASKED_NEW("[" STOP "," START
		    "]") "; pod (pod) {'apiVersion':'v1',"
			 "'kind':'DeleteOptions','gracePeriodSeconds':1}" },
	{ { plan_restart, VM("Always"), VMI("Running"), NULL, NULL, NULL,
	    false },
	  202,
	  ASKED_NEW("[" STOP "," START "]") },
	{ { plan_migrate, VM("Always"), VMI("Running"),
	    "{'addedNodeSelector': {'a': 'b'}}", NULL, NULL, false },
	  202,
	  "migration {'apiVersion':'kubevirt.io/v1','kind':"
	  "'VirtualMachineInstanceMigration','metadata':{'generateName':"
	  "'kubevirt-migrate-vm-'},'spec':{'vmiName':'m',"
	  "'addedNodeSelector':{'a':'b'}}}" },
	{ { plan_pause, NULL, VMI("Running"), NULL, NULL, NULL, false },
	  200,
	  "pause true" },
	{ { plan_unpause, NULL,
	    "{" META ", 'status': {'phase': 'Running', 'conditions': "
	    "[{'type': 'Paused', 'status': 'True'}]}}",
	    NULL, NULL, NULL, false },
	  200,
	  "pause false" },
	{ { plan_evacuate_cancel, NULL, VMI("Running"), NULL, NULL,
	    "{'metadata': {'name': 'n1'}}", true },
	  200,
	  "" },
	{ { plan_evacuate_cancel, NULL,
	    "{" META ", 'status': {'evacuationNodeName': 'n1'}}",
	    "{'evacuationNodeName': 'n1'}", NULL,
	    "{'metadata': {'name': 'n1'}}", false },
	  200,
	  "vmi [{'op':'test','path':'/status/evacuationNodeName',"
	  "'value':'n1'},{'op':'remove','path':"
	  "'/status/evacuationNodeName'}]" },
};

static void
test_plans_say_what_is_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
		AUTO(answer_done) struct answer answer = { 0 };

		ask(&plans[i].question, &answer);
		assert_non_null(answer.plan);
		assert_int_equal(answer.plan->code, plans[i].code);
		assert_string_equal(answer.text, plans[i].text);
	}
}

static const struct {
	struct question question;
	int code;
	const char *why; /* behind the name, if there is one */
} refusals[] = {
	{ { plan_start, VM("Manual"), VMI("Running"), NULL, NULL, NULL, false },
	  409,
	  "VM is already running" },
	{ { plan_start, VM("Once"), NULL, NULL, NULL, NULL, false },
	  409,
	  "Once does not support manual start requests" },
	{ { plan_start, "{" META ", 'spec': {}}", NULL, NULL, NULL, NULL,
	    false },
	  500,
	  "the VM has no run strategy" },
	{ { plan_start,
	    VM_ST("Manual", "{'stateChangeRequests': [{'action': 'Stop'}]}"),
	    NULL, NULL, NULL, NULL, false },
	  500,
	  "unable to complete request: stop/start already underway" },
	{ { plan_stop, VM("Manual"), NULL, NULL, NULL, NULL, false },
	  409,
	  "VM is not running" },
	{ { plan_stop, VM("Halted"), VMI("Running"), "{'gracePeriod': 30}",
	    NULL, NULL, false },
	  409,
	  "Halted only supports manual stop requests with a shorter "
	  "graceperiod" },
	{ { plan_stop, VM("Halted"), VMI("Running"), "{'gracePeriod': 'x'}",
	    NULL, NULL, false },
	  400,
	  "gracePeriod has to be greater or equal to 0" },
	{ { plan_restart, VM("Once"), VMI("Running"), NULL, NULL, NULL, false },
	  409,
	  "RunStategy Once does not support manual restart requests" },
	{ { plan_migrate, VM("Always"), VMI("Failed"), NULL, NULL, NULL,
	    false },
	  409,
	  "VM is not running" },
	{ { plan_pause, NULL,
	    "{" META ", 'spec': {'livenessProbe': {}}, "
	    "'status': {'phase': 'Running'}}",
	    NULL, NULL, NULL, false },
	  403,
	  "Pausing VMIs with LivenessProbe is currently not supported" },
	{ { plan_pause, NULL,
	    "{" META ", 'status': {'phase': 'Running', "
	    "'migrationState': {'migrationUid': 'x'}}}",
	    NULL, NULL, NULL, false },
	  409,
	  "Cannot pause VM 'm' because it is currently being migrated" },
	{ { plan_evacuate_cancel, NULL,
	    "{" META ", 'status': {'evacuationNodeName': 'n1'}}", NULL, NULL,
	    "{'metadata': {'name': 'n1'}, 'spec': {'taints': [{'key': "
	    "'kubevirt.io/drain', 'effect': 'NoSchedule'}]}}",
	    false },
	  400,
	  "Node \"n1\" has NodeDrainTaintKey \"kubevirt.io/drain:"
	  "NoSchedule\"" },
	{ { plan_evacuate_cancel, NULL,
	    "{" META ", 'status': {'evacuationNodeName': 'n1'}}", NULL, NULL,
	    NULL, true },
	  400,
	  "No body" },
};

static void
test_refusals_have_kubevirts_codes_and_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		AUTO(answer_done) struct answer answer = { 0 };
		const char *at;

		ask(&refusals[i].question, &answer);
		assert_null(answer.plan);
		assert_int_equal(answer.st.code, refusals[i].code);
		at = strstr(answer.st.message, refusals[i].why);
		assert_non_null(at);
		assert_string_equal(at, refusals[i].why);
	}
}

/* After a migration the pod on the other node is the one that runs it. */
static void
test_a_forced_restart_removes_the_pod_that_it_arrived_in(void **state)
{
	const struct question q = {
		.plan = plan_restart,
		.vm = VM("Always"),
		.vmi = "{" META ", 'status': {'phase': 'Running', "
		       "'migrationState': {'completed': true, "
		       "'targetPod': 'b'}}}",
		.options = "{'gracePeriodSeconds': 0}",
		.pods = "{'items': [{'metadata': {'name': 'a'}}, "
			"{'metadata': {'name': 'b'}}]}",
	};
	AUTO(answer_done) struct answer answer = { 0 };

	(void)state;
	ask(&q, &answer);
	assert_non_null(answer.plan);
	assert_string_equal(answer.plan->steps[1].name, "b");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans_say_what_is_written),
		cmocka_unit_test(test_refusals_have_kubevirts_codes_and_words),
		cmocka_unit_test(
			test_a_forced_restart_removes_the_pod_that_it_arrived_in),
	};

	js_init();
	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
