/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/plugins.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "cluster/admit/lifecycle.h"
#include "cluster/admit/podplugins.h"
#include "cluster/admit/testadmit.h"

#define POD(spec) "{'metadata':{'name':'p','namespace':'w'},'spec':" spec "}"

struct case_world {
	struct world *w;
	struct plugins *plugins;
};

static int
set_up(void **state)
{
	struct case_world *c = xmalloc0(sizeof(*c));

	(void)world_set_up((void **)&c->w);
	world_put(c->w, "", "serviceaccounts",
		  "{'metadata':{'name':'default','namespace':'w'}}");
	c->plugins = plugins_new(c->w->store);
	*state = c;
	return 0;
}

static int
tear_down(void **state)
{
	struct case_world *c = *state;
	struct world *w = c->w;

	plugins_free(c->plugins);
	free(c);
	return world_tear_down((void **)&w);
}

static void
assert_refused(int result, struct status *st, int code, const char *message)
{
	assert_int_equal(result, -1);
	assert_string_equal(st->message, message);
	assert_int_equal(st->code, code);
	status_done(st);
}

static json_t *
mutate(struct case_world *c, const char *plural, const char *text)
{
	struct admission_request req = world_create(c->w, "", plural, text);
	AUTO(status_done) struct status st = STATUS_INIT;
	json_t *object;

	if (plugins_mutate(c->plugins, &req, &st) == -1)
		fail_msg("refused: %s", st.message);
	object = json_incref(req.object);
	/* Doing it again must not change anything. */
	AUTO(js_unref) json_t *before = json_deep_copy(object);
	assert_int_equal(plugins_mutate(c->plugins, &req, &st), 0);
	assert_true(json_equal(before, req.object));
	world_request_done(&req);
	return object;
}

static void
refuse(struct case_world *c, const char *plural, const char *text,
       const char *message)
{
	struct admission_request req = world_create(c->w, "", plural, text);
	struct status st = STATUS_INIT;
	int result = plugins_mutate(c->plugins, &req, &st);

	if (result == 0)
		result = plugins_validate(c->plugins, &req, &st);
	assert_refused(result, &st, 403, message);
	world_request_done(&req);
}

static void
test_a_pod_gets_the_default_account_and_its_token(void **state)
{
	AUTO(js_unref)
	json_t *pod = mutate(
		*state, "pods",
		POD("{'containers':[{'name':'a'},{'name':'b','volumeMounts':["
		    "{'name':'own','mountPath':'/var/run/secrets/"
		    "kubernetes.io/serviceaccount'}]}],"
		    "'initContainers':[{'name':'i'}]}"));
	const json_t *volume =
		json_array_get(js_arr_at(pod, "spec.volumes"), 0);
	const json_t *containers = js_arr_at(pod, "spec.containers");
	const json_t *mounts =
		js_arr_at(json_array_get(containers, 0), "volumeMounts");

	assert_string_equal(js_str_at(pod, "spec.serviceAccountName"),
			    "default");
	assert_string_equal(js_str_at(pod, "spec.serviceAccount"), "default");
	assert_true(
		str_has_prefix(js_str_at(volume, "name"), "kube-api-access-"));
	assert_int_equal(
		json_array_size(js_arr_at(volume, "projected.sources")), 3);
	assert_string_equal(js_str_at(json_array_get(mounts, 0), "name"),
			    js_str_at(volume, "name"));
	assert_true(js_bool_at(json_array_get(mounts, 0), "readOnly", false));
	/* Who mounts something there already keeps it. */
	assert_int_equal(
		json_array_size(js_arr_at(json_array_get(containers, 1),
					  "volumeMounts")),
		1);
	assert_int_equal(
		json_array_size(js_arr_at(
			json_array_get(js_arr_at(pod, "spec.initContainers"),
				       0),
			"volumeMounts")),
		1);
}

static void
test_no_token_is_mounted_where_pod_or_account_say_so(void **state)
{
	struct case_world *c = *state;
	AUTO(js_unref)
	json_t *by_pod = mutate(c, "pods",
				POD("{'automountServiceAccountToken':false,"
				    "'containers':[{'name':'a'}]}"));
	AUTO(js_unref) json_t *by_account = NULL;

	assert_null(js_at(by_pod, "spec.volumes"));
	world_put(c->w, "", "serviceaccounts",
		  "{'metadata':{'name':'quiet','namespace':'w'},"
		  "'automountServiceAccountToken':false,"
		  "'imagePullSecrets':[{'name':'reg'}]}");
	by_account = mutate(c, "pods",
			    POD("{'serviceAccountName':'quiet',"
				"'containers':[{'name':'a'}]}"));
	assert_null(js_at(by_account, "spec.volumes"));
	assert_string_equal(
		js_str_at(json_array_get(js_arr_at(by_account,
						   "spec.imagePullSecrets"),
					 0),
			  "name"),
		"reg");
}

static void
test_a_missing_account_is_named(void **state)
{
	refuse(*state, "pods",
	       POD("{'serviceAccountName':'nobody','containers':[]}"),
	       "pods \"p\" is forbidden: error looking up service account "
	       "w/nobody: serviceaccount \"nobody\" not found");
}

static void
test_a_mirror_pod_is_left_alone_and_has_no_account(void **state)
{
	struct case_world *c = *state;
	AUTO(js_unref)
	json_t *pod =
		mutate(c, "pods",
		       "{'metadata':{'name':'p','namespace':'w','annotations':"
		       "{'kubernetes.io/config.mirror':'x'}},"
		       "'spec':{'containers':[]}}");

	assert_null(js_at(pod, "spec.serviceAccountName"));
	refuse(c, "pods",
	       "{'metadata':{'name':'p','namespace':'w','annotations':"
	       "{'kubernetes.io/config.mirror':'x'}},"
	       "'spec':{'serviceAccountName':'default','containers':[]}}",
	       "pods \"p\" is forbidden: a mirror pod may not reference "
	       "service accounts");
}

static void
test_only_the_default_account_is_worth_waiting_for(void **state)
{
	struct case_world *c = *state;
	struct admission_request req =
		world_create(c->w, "", "pods", POD("{'containers':[]}"));
	struct admission_request other = world_create(
		c->w, "", "pods",
		POD("{'serviceAccountName':'nobody','containers':[]}"));

	assert_false(plugins_must_wait(c->plugins, &req));
	assert_false(plugins_must_wait(c->plugins, &other));
	world_remove(c->w, "", "serviceaccounts", "w", "default");
	assert_true(plugins_must_wait(c->plugins, &req));
	assert_false(plugins_must_wait(c->plugins, &other));
	req.op = ADMISSION_UPDATE;
	assert_false(plugins_must_wait(c->plugins, &req));
	world_request_done(&req);
	world_request_done(&other);
}

static void
test_a_limit_without_a_request_is_the_request(void **state)
{
	AUTO(js_unref)
	json_t *pod = mutate(
		*state, "pods",
		POD("{'containers':[{'name':'a','resources':{'limits':"
		    "{'cpu':'2','memory':'1Gi'},'requests':{'cpu':'1'}}}]}"));
	const json_t *requests =
		js_obj_at(json_array_get(js_arr_at(pod, "spec.containers"), 0),
			  "resources.requests");

	assert_string_equal(js_str_at(requests, "cpu"), "1");
	assert_string_equal(js_str_at(requests, "memory"), "1Gi");
}

static void
test_tolerations_are_added_unless_there(void **state)
{
	struct case_world *c = *state;
	AUTO(js_unref)
	json_t *none = mutate(c, "pods", POD("{'containers':[]}"));
	AUTO(js_unref)
	json_t *all = mutate(
		c, "pods",
		POD("{'containers':[],'tolerations':[{'operator':'Exists'}]}"));
	const json_t *list = js_arr_at(none, "spec.tolerations");

	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(
		js_int_at(json_array_get(list, 0), "tolerationSeconds", 0),
		300);
	assert_int_equal(json_array_size(js_arr_at(all, "spec.tolerations")),
			 1);
}

static void
test_priority_comes_from_the_class(void **state)
{
	struct case_world *c = *state;
	AUTO(js_unref)
	json_t *none = mutate(c, "pods", POD("{'containers':[]}"));
	AUTO(js_unref)
	json_t *critical =
		mutate(c, "pods",
		       POD("{'containers':[],"
			   "'priorityClassName':'system-node-critical'}"));
	AUTO(js_unref) json_t *by_default = NULL;

	assert_int_equal(js_int_at(none, "spec.priority", -1), 0);
	assert_string_equal(js_str_at(none, "spec.preemptionPolicy"),
			    "PreemptLowerPriority");
	assert_int_equal(js_int_at(critical, "spec.priority", -1), 2000001000);
	world_put(c->w, "scheduling.k8s.io", "priorityclasses",
		  "{'metadata':{'name':'mine'},'value':7,"
		  "'globalDefault':true,'preemptionPolicy':'Never'}");
	world_settle(c->w);
	by_default = mutate(c, "pods", POD("{'containers':[]}"));
	assert_int_equal(js_int_at(by_default, "spec.priority", -1), 7);
	assert_string_equal(js_str_at(by_default, "spec.priorityClassName"),
			    "mine");
	assert_string_equal(js_str_at(by_default, "spec.preemptionPolicy"),
			    "Never");
	refuse(c, "pods", POD("{'containers':[],'priorityClassName':'no'}"),
	       "pods \"p\" is forbidden: no PriorityClass with name no was "
	       "found");
	refuse(c, "pods", POD("{'containers':[],'priority':9}"),
	       "pods \"p\" is forbidden: the integer value of priority (9) "
	       "must not be provided in pod spec; priority admission "
	       "controller computed 7 from the given PriorityClass name");
}

static void
test_a_second_default_class_is_refused(void **state)
{
	struct case_world *c = *state;
	struct admission_request req;
	struct status st = STATUS_INIT;

	world_put(c->w, "scheduling.k8s.io", "priorityclasses",
		  "{'metadata':{'name':'mine'},'value':7,"
		  "'globalDefault':true}");
	req = world_create(c->w, "scheduling.k8s.io", "priorityclasses",
			   "{'metadata':{'name':'two'},'value':8,"
			   "'globalDefault':true}");
	assert_refused(plugins_validate(c->plugins, &req, &st), &st, 403,
		       "priorityclasses.scheduling.k8s.io \"two\" is "
		       "forbidden: PriorityClass mine is already marked as "
		       "default. Only one default can exist");
	world_request_done(&req);
	req = world_create(c->w, "scheduling.k8s.io", "priorityclasses",
			   "{'metadata':{'name':'two'},'value':1000000001}");
	assert_refused(plugins_validate(c->plugins, &req, &st), &st, 403,
		       "priorityclasses.scheduling.k8s.io \"two\" is "
		       "forbidden: maximum allowed value of a user defined "
		       "priority is 1000000000");
	world_request_done(&req);
}

#define CLAIM(spec) "{'metadata':{'name':'c','namespace':'w'},'spec':" spec "}"

static void
test_the_newest_default_storage_class_is_taken(void **state)
{
	struct case_world *c = *state;
	AUTO(js_unref)
	json_t *none = mutate(c, "persistentvolumeclaims", CLAIM("{}"));
	AUTO(js_unref) json_t *chosen = NULL;
	AUTO(js_unref) json_t *wanted = NULL;

	assert_null(js_at(none, "spec.storageClassName"));
	world_put(c->w, "storage.k8s.io", "storageclasses",
		  "{'metadata':{'name':'a-new','creationTimestamp':"
		  "'2026-02-01T00:00:00Z','annotations':{"
		  "'storageclass.kubernetes.io/is-default-class':'true'}}}");
	world_put(c->w, "storage.k8s.io", "storageclasses",
		  "{'metadata':{'name':'b-old','creationTimestamp':"
		  "'2026-01-01T00:00:00Z','annotations':{"
		  "'storageclass.kubernetes.io/is-default-class':'true'}}}");
	world_put(c->w, "storage.k8s.io", "storageclasses",
		  "{'metadata':{'name':'c-plain','creationTimestamp':"
		  "'2026-03-01T00:00:00Z'}}");
	world_settle(c->w);
	chosen = mutate(c, "persistentvolumeclaims", CLAIM("{}"));
	assert_string_equal(js_str_at(chosen, "spec.storageClassName"),
			    "a-new");
	wanted = mutate(c, "persistentvolumeclaims",
			CLAIM("{'storageClassName':''}"));
	assert_string_equal(js_str_at(wanted, "spec.storageClassName"), "");
}

static void
put_range(struct case_world *c, const char *limits)
{
	AUTO(free_ptr)
	char *text = xasprintf("{'metadata':{'name':'lr','namespace':'w'},"
			       "'spec':{'limits':%s}}",
			       limits);
	AUTO(js_unref) json_t *range = mutate(c, "limitranges", text);

	world_put_json(c->w, "", "limitranges", range);
}

static void
test_containers_get_the_defaults_of_a_limit_range(void **state)
{
	struct case_world *c = *state;
	AUTO(js_unref) json_t *pod = NULL;
	const json_t *resources;

	put_range(c, "[{'type':'Container','max':{'cpu':'4'},"
		     "'default':{'memory':'1Gi'},"
		     "'defaultRequest':{'memory':'512Mi'}}]");
	pod = mutate(c, "pods",
		     POD("{'containers':[{'name':'a'}],"
			 "'initContainers':[{'name':'i','resources':"
			 "{'limits':{'cpu':'1','memory':'1Gi'}}}]}"));
	resources =
		js_obj_at(json_array_get(js_arr_at(pod, "spec.containers"), 0),
			  "resources");
	assert_string_equal(js_str_at(resources, "limits.cpu"), "4");
	assert_string_equal(js_str_at(resources, "limits.memory"), "1Gi");
	assert_string_equal(js_str_at(resources, "requests.cpu"), "4");
	assert_string_equal(js_str_at(resources, "requests.memory"), "512Mi");
	assert_string_equal(
		json_string_value(
			json_object_get(js_obj_at(pod, "metadata.annotations"),
					"kubernetes.io/limit-ranger")),
		"LimitRanger plugin set: cpu, memory request for container a; "
		"cpu, memory limit for container a");
}

static void
test_bounds_of_a_limit_range_hold(void **state)
{
	struct case_world *c = *state;

	put_range(c, "[{'type':'Container','max':{'cpu':'1'},"
		     "'min':{'cpu':'100m'}},"
		     "{'type':'Pod','max':{'memory':'1Gi'}},"
		     "{'type':'PersistentVolumeClaim',"
		     "'max':{'storage':'1Gi'},'min':{'storage':'1Mi'}}]");
	refuse(c, "pods",
	       POD("{'containers':[{'name':'a','resources':"
		   "{'limits':{'cpu':'2','memory':'1Gi'}}}]}"),
	       "pods \"p\" is forbidden: maximum cpu usage per Container is "
	       "1, but limit is 2");
	refuse(c, "pods",
	       POD("{'containers':[{'name':'a','resources':"
		   "{'requests':{'cpu':'50m'},'limits':{'memory':'2Gi'}}}]}"),
	       "pods \"p\" is forbidden: [minimum cpu usage per Container is "
	       "100m, but request is 50m, maximum memory usage per Pod is "
	       "1Gi, but limit is 2Gi]");
	refuse(c, "pods",
	       POD("{'containers':[{'name':'a','resources':"
		   "{'requests':{'memory':'1Gi'}}}]}"),
	       "pods \"p\" is forbidden: maximum memory usage per Pod is "
	       "1Gi.  No limit is specified");
	refuse(c, "persistentvolumeclaims",
	       CLAIM("{'resources':{'requests':{'storage':'2Gi'}}}"),
	       "persistentvolumeclaims \"c\" is forbidden: maximum storage "
	       "usage per PersistentVolumeClaim is 1Gi, but request is 2Gi");
}

static void
test_ratio_of_limit_to_request_is_bounded(void **state)
{
	struct case_world *c = *state;

	put_range(c, "[{'type':'Container',"
		     "'maxLimitRequestRatio':{'cpu':'2'}}]");
	refuse(c, "pods",
	       POD("{'containers':[{'name':'a','resources':"
		   "{'requests':{'cpu':'1'},'limits':{'cpu':'3'}}}]}"),
	       "pods \"p\" is forbidden: cpu max limit to request ratio per "
	       "Container is 2, but provided ratio is 3.000000");
	refuse(c, "pods", POD("{'containers':[{'name':'a'}]}"),
	       "pods \"p\" is forbidden: cpu max limit to request ratio per "
	       "Container is 2, but no request is specified or request is 0");
}

static void
test_namespaces_must_be_there_and_stay(void **state)
{
	struct case_world *c = *state;
	struct status st = STATUS_INIT;
	struct admission_request req =
		world_create(c->w, "", "configmaps",
			     "{'metadata':{'name':'y','namespace':'missing'}}");

	assert_refused(lifecycle_check(c->w->store, &req, &st), &st, 404,
		       "namespaces \"missing\" not found");
	world_put(c->w, "", "namespaces",
		  "{'metadata':{'name':'missing',"
		  "'deletionTimestamp':'2026-01-01T00:00:00Z'}}");
	assert_int_equal(lifecycle_check(c->w->store, &req, &st), -1);
	assert_string_equal(st.message,
			    "configmaps \"y\" is forbidden: unable to create "
			    "new content in namespace missing because it is "
			    "being terminated");
	{
		const json_t *cause =
			json_array_get(js_arr_at(st.details, "causes"), 0);

		assert_string_equal(js_str_at(cause, "reason"),
				    "NamespaceTerminating");
		assert_string_equal(js_str_at(cause, "message"),
				    "namespace missing is being terminated");
		assert_string_equal(js_str_at(cause, "field"),
				    "metadata.namespace");
	}
	status_done(&st);
	/* What is there already may change and go. */
	req.op = ADMISSION_UPDATE;
	assert_int_equal(lifecycle_check(c->w->store, &req, &st), 0);
	req.op = ADMISSION_DELETE;
	assert_int_equal(lifecycle_check(c->w->store, &req, &st), 0);
	world_request_done(&req);
}

static void
test_three_namespaces_are_never_deleted(void **state)
{
	struct case_world *c = *state;
	struct status st = STATUS_INIT;
	struct admission_request req = world_create(
		c->w, "", "namespaces", "{'metadata':{'name':'kube-system'}}");

	req.op = ADMISSION_DELETE;
	assert_refused(lifecycle_check(c->w->store, &req, &st), &st, 403,
		       "namespaces \"kube-system\" is forbidden: this "
		       "namespace may not be deleted");
	req.name = "kube-node-lease";
	assert_int_equal(lifecycle_check(c->w->store, &req, &st), 0);
	world_request_done(&req);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_pod_gets_the_default_account_and_its_token),
		CASE(test_no_token_is_mounted_where_pod_or_account_say_so),
		CASE(test_a_missing_account_is_named),
		CASE(test_a_mirror_pod_is_left_alone_and_has_no_account),
		CASE(test_only_the_default_account_is_worth_waiting_for),
		CASE(test_a_limit_without_a_request_is_the_request),
		CASE(test_tolerations_are_added_unless_there),
		CASE(test_priority_comes_from_the_class),
		CASE(test_a_second_default_class_is_refused),
		CASE(test_the_newest_default_storage_class_is_taken),
		CASE(test_containers_get_the_defaults_of_a_limit_range),
		CASE(test_bounds_of_a_limit_range_hold),
		CASE(test_ratio_of_limit_to_request_is_bounded),
		CASE(test_namespaces_must_be_there_and_stay),
		CASE(test_three_namespaces_are_never_deleted),
	};

	return cmocka_run_group_tests_name("plugins", tests, NULL, NULL);
}
