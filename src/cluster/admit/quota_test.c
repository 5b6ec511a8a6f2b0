/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/quota.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/admit/tally.h"
#include "cluster/admit/testadmit.h"

#define MAP(name) "{'metadata':{'name':'" name "','namespace':'w'},'data':{}}"
#define POD(name, cpu)                             \
	"{'metadata':{'name':'" name               \
	"','namespace':'w'},'spec':{'containers':" \
	"[{'name':'c','resources':{'requests':{'cpu':'" cpu "'}}}]}}"

static struct quota *
start(struct world *w)
{
	return quota_new(w->loop, w->store, w->registry);
}

static void
put_quota(struct world *w, const char *name, const char *spec)
{
	AUTO(free_ptr)
	char *text = xasprintf("{'metadata':{'name':'%s','namespace':'w'},"
			       "'spec':%s}",
			       name, spec);

	world_put(w, "", "resourcequotas", text);
	world_settle(w);
}

/* Charges and, if that is allowed, writes; the answer is the world's. */
static void
assert_charge(struct world *w, struct quota *quota,
	      struct admission_request req, const char *refusal)
{
	AUTO(status_done) struct status st = STATUS_INIT;
	int result = quota_charge(quota, &req, store_next_rv(w->store), &st);

	if (refusal == NULL) {
		if (result == -1)
			fail_msg("refused: %s", st.message);
		if (!req.dry_run)
			world_put_json(w, req.kind->group, req.kind->plural,
				       req.object);
	} else {
		assert_int_equal(result, -1);
		assert_string_equal(st.message, refusal);
		assert_int_equal(st.code, 403);
		assert_string_equal(st.reason, "Forbidden");
	}
	world_request_done(&req);
}

static void
assert_used(struct world *w, struct quota *quota, const char *name,
	    const char *resource, const char *expected)
{
	AUTO(js_unref) json_t *obj = NULL;

	world_settle(w);
	quota_flush(quota);
	obj = world_get(w, "", "resourcequotas", "w", name);
	assert_string_equal(json_string_value(json_object_get(
				    js_obj_at(obj, "status.used"), resource)),
			    expected);
}

static struct admission_request
new_map(const struct world *w, const char *name)
{
	AUTO(free_ptr)
	char *text =
		xasprintf("{'metadata':{'name':'%s','namespace':'w'}}", name);

	return world_create(w, "", "configmaps", text);
}

static void
test_what_would_exceed_is_refused_in_kubernetes_words(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);

	put_quota(w, "qq",
		  "{'hard':{'configmaps':'2','count/configmaps':'9'}}");
	assert_charge(w, quota, new_map(w, "a"), NULL);
	assert_charge(w, quota, new_map(w, "b"), NULL);
	assert_charge(w, quota, new_map(w, "overq"),
		      "configmaps \"overq\" is forbidden: exceeded quota: qq, "
		      "requested: configmaps=1, used: configmaps=2, "
		      "limited: configmaps=2");
	assert_used(w, quota, "qq", "configmaps", "2");
	assert_used(w, quota, "qq", "count/configmaps", "2");
	quota_free(quota);
}

static void
test_kinds_of_users_are_counted_by_group(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);

	put_quota(w, "q", "{'hard':{'count/leases.coordination.k8s.io':'1'}}");
	assert_charge(w, quota,
		      world_create(w, "coordination.k8s.io", "leases",
				   "{'metadata':{'name':'a','namespace':'w'}}"),
		      NULL);
	assert_charge(
		w, quota,
		world_create(w, "coordination.k8s.io", "leases",
			     "{'metadata':{'name':'b','namespace':'w'}}"),
		"leases.coordination.k8s.io \"b\" is forbidden: exceeded "
		"quota: q, requested: count/leases.coordination.k8s.io=1, "
		"used: count/leases.coordination.k8s.io=1, "
		"limited: count/leases.coordination.k8s.io=1");
	quota_free(quota);
}

static void
test_writes_that_are_not_on_disk_yet_count(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);
	char name[16];

	put_quota(w, "q", "{'hard':{'configmaps':'50'}}");
	/* No turn of the loop in between: not one event has come. */
	for (int i = 0; i < 50; i++) {
		(void)snprintf(name, sizeof(name), "m%d", i);
		assert_charge(w, quota, new_map(w, name), NULL);
	}
	assert_charge(w, quota, new_map(w, "m50"),
		      "configmaps \"m50\" is forbidden: exceeded quota: q, "
		      "requested: configmaps=1, used: configmaps=50, limited: "
		      "configmaps=50");
	assert_used(w, quota, "q", "configmaps", "50");
	world_remove(w, "", "configmaps", "w", "m7");
	assert_used(w, quota, "q", "configmaps", "49");
	assert_charge(w, quota, new_map(w, "m50"), NULL);
	assert_charge(w, quota, new_map(w, "m51"),
		      "configmaps \"m51\" is forbidden: exceeded quota: q, "
		      "requested: configmaps=1, used: configmaps=50, limited: "
		      "configmaps=50");
	quota_free(quota);
}

static void
test_a_dry_run_is_checked_but_not_charged(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);
	struct admission_request req;

	put_quota(w, "q", "{'hard':{'configmaps':'1'}}");
	for (int i = 0; i < 3; i++) {
		req = new_map(w, "a");
		req.dry_run = true;
		assert_charge(w, quota, req, NULL);
	}
	assert_charge(w, quota, new_map(w, "a"), NULL);
	req = new_map(w, "b");
	req.dry_run = true;
	assert_charge(w, quota, req,
		      "configmaps \"b\" is forbidden: exceeded quota: q, "
		      "requested: configmaps=1, used: configmaps=1, limited: "
		      "configmaps=1");
	quota_free(quota);
}

static void
test_a_write_that_does_not_happen_is_given_back(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);
	AUTO(status_done) struct status st = STATUS_INIT;
	struct admission_request req = new_map(w, "a");

	put_quota(w, "q", "{'hard':{'configmaps':'1'}}");
	assert_int_equal(
		quota_charge(quota, &req, store_next_rv(w->store), &st), 0);
	quota_release(quota, store_next_rv(w->store));
	assert_charge(w, quota, new_map(w, "b"), NULL);
	world_request_done(&req);
	quota_free(quota);
}

static void
test_a_reservation_ends_even_if_nobody_writes(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);
	AUTO(status_done) struct status st = STATUS_INIT;
	struct admission_request req = new_map(w, "a");

	put_quota(w, "q", "{'hard':{'configmaps':'1'}}");
	assert_int_equal(
		quota_charge(quota, &req, store_next_rv(w->store), &st), 0);
	/* Neither written nor given back: the loop's next turn notices. */
	loop_poll(w->loop);
	world_settle(w);
	loop_poll(w->loop);
	assert_charge(w, quota, new_map(w, "b"), NULL);
	world_request_done(&req);
	quota_free(quota);
}

/* The disk is full as long as no file may be longer than size. */
static void
set_file_limit(rlim_t size)
{
	struct rlimit limit;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* For store_when_durable(): counts failures. */
static void
count_failure(const struct err *err, void *arg)
{
	int *failures = arg;

	*failures += err != NULL;
}

static void
test_writes_that_the_disk_refused_are_given_back(void **state)
{
	static const char refusal[] =
		"configmaps \"e\" is forbidden: exceeded quota: q, "
		"requested: configmaps=1, used: configmaps=3, limited: "
		"configmaps=3";
	struct world *w = *state;
	struct quota *quota = start(w), *late;
	int failures = 0;
	struct err err;

	world_put(w, "", "configmaps", MAP("old"));
	put_quota(w, "q", "{'hard':{'configmaps':'3'}}");
	assert_used(w, quota, "q", "configmaps", "1");
	world_settle(w);
	set_file_limit(1);
	assert_charge(w, quota, new_map(w, "a"), NULL);
	assert_charge(w, quota, new_map(w, "b"), NULL);
	world_remove(w, "", "configmaps", "w", "old");
	/* Counts while all of this is only in memory. */
	late = start(w);
	store_when_durable(w->store, count_failure, &failures);
	(void)store_flush(w->store, &err);
	assert_int_equal(failures, 1);
	set_file_limit(RLIM_INFINITY);
	loop_poll(w->loop);
	assert_charge(w, quota, new_map(w, "c"), NULL);
	assert_charge(w, quota, new_map(w, "d"), NULL);
	assert_charge(w, quota, new_map(w, "e"), refusal);
	assert_used(w, quota, "q", "configmaps", "3");
	assert_charge(w, late, new_map(w, "e"), refusal);
	quota_free(quota);
	quota_free(late);
}

static void
test_pods_count_what_they_request_until_they_end(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);

	put_quota(w, "q", "{'hard':{'requests.cpu':'1500m','pods':'5'}}");
	assert_charge(w, quota, world_create(w, "", "pods", POD("a", "1")),
		      NULL);
	assert_charge(w, quota, world_create(w, "", "pods", POD("b", "600m")),
		      "pods \"b\" is forbidden: exceeded quota: q, requested: "
		      "requests.cpu=600m, used: requests.cpu=1, limited: "
		      "requests.cpu=1500m");
	assert_used(w, quota, "q", "requests.cpu", "1");
	world_put(w, "", "pods",
		  "{'metadata':{'name':'a','namespace':'w'},"
		  "'status':{'phase':'Failed'},'spec':{'containers':"
		  "[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}");
	assert_used(w, quota, "q", "requests.cpu", "0");
	assert_used(w, quota, "q", "pods", "0");
	assert_charge(w, quota, world_create(w, "", "pods", POD("b", "600m")),
		      NULL);
	assert_used(w, quota, "q", "requests.cpu", "600m");
	quota_free(quota);
}

static void
test_a_pod_must_say_what_is_limited(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);

	put_quota(w, "q",
		  "{'hard':{'limits.memory':'1Gi','requests.cpu':'1'}}");
	assert_charge(w, quota, world_create(w, "", "pods", POD("a", "1m")),
		      "pods \"a\" is forbidden: failed quota: q: must specify "
		      "limits.memory for: c");
	quota_free(quota);
}

static char *
claim(int size)
{
	return xasprintf("{'metadata':{'name':'c','namespace':'w'},'spec':{"
			 "'resources':{'requests':{'storage':'%dGi'}}}}",
			 size);
}

static void
test_a_claim_may_grow_as_far_as_the_quota(void **state)
{
	AUTO(free_ptr) char *small = claim(4);
	AUTO(free_ptr) char *larger = claim(10);
	AUTO(free_ptr) char *huge = claim(11);
	struct world *w = *state;
	struct quota *quota = start(w);

	put_quota(w, "q", "{'hard':{'requests.storage':'10Gi'}}");
	assert_charge(w, quota,
		      world_create(w, "", "persistentvolumeclaims", small),
		      NULL);
	assert_used(w, quota, "q", "requests.storage", "4Gi");
	assert_charge(w, quota,
		      world_update(w, "", "persistentvolumeclaims", huge),
		      "persistentvolumeclaims \"c\" is forbidden: exceeded "
		      "quota: q, requested: requests.storage=7Gi, used: "
		      "requests.storage=4Gi, limited: requests.storage=10Gi");
	assert_charge(w, quota,
		      world_update(w, "", "persistentvolumeclaims", larger),
		      NULL);
	assert_used(w, quota, "q", "requests.storage", "10Gi");
	quota_free(quota);
}

static void
test_scopes_choose_among_pods_and_leave_the_rest_alone(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);

	put_quota(w, "q",
		  "{'hard':{'pods':'0','configmaps':'0'},"
		  "'scopes':['BestEffort']}");
	assert_charge(w, quota, new_map(w, "a"), NULL);
	assert_charge(w, quota, world_create(w, "", "pods", POD("a", "1")),
		      NULL);
	assert_charge(w, quota,
		      world_create(w, "", "pods",
				   "{'metadata':{'name':'b','namespace':'w'},"
				   "'spec':{'containers':[{'name':'c'}]}}"),
		      "pods \"b\" is forbidden: exceeded quota: q, requested: "
		      "pods=1, used: pods=0, limited: pods=0");
	assert_used(w, quota, "q", "pods", "0");
	quota_free(quota);
}

static void
test_what_was_there_before_the_quota_is_counted(void **state)
{
	struct world *w = *state;
	struct quota *quota;

	world_put(w, "", "configmaps", MAP("a"));
	world_put(w, "", "pods", POD("p", "250m"));
	put_quota(w, "early", "{'hard':{'configmaps':'5'}}");
	quota = start(w);
	assert_int_equal(quota_count(quota), 1);
	assert_used(w, quota, "early", "configmaps", "1");
	/* One that is in memory but not on disk when the quota appears. */
	world_put(w, "", "configmaps", MAP("b"));
	put_quota(w, "late", "{'hard':{'configmaps':'5','cpu':'1'}}");
	assert_int_equal(quota_count(quota), 2);
	assert_used(w, quota, "late", "configmaps", "2");
	assert_used(w, quota, "late", "cpu", "250m");
	assert_used(w, quota, "early", "configmaps", "2");
	quota_free(quota);
}

static void
test_a_changed_spec_is_counted_anew(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);

	world_put(w, "", "configmaps", MAP("a"));
	world_put(w, "", "secrets", MAP("s"));
	put_quota(w, "q", "{'hard':{'configmaps':'1'}}");
	assert_charge(w, quota, new_map(w, "b"),
		      "configmaps \"b\" is forbidden: exceeded quota: q, "
		      "requested: configmaps=1, used: configmaps=1, limited: "
		      "configmaps=1");
	put_quota(w, "q", "{'hard':{'configmaps':'2','secrets':'9'}}");
	assert_used(w, quota, "q", "secrets", "1");
	assert_charge(w, quota, new_map(w, "b"), NULL);
	world_settle(w);
	world_remove(w, "", "resourcequotas", "w", "q");
	world_settle(w);
	assert_int_equal(quota_count(quota), 0);
	assert_charge(w, quota, new_map(w, "c"), NULL);
	quota_free(quota);
}

static void
test_status_has_hard_in_canonical_form(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);
	AUTO(js_unref) json_t *obj = NULL;
	AUTO(free_ptr) char *text = NULL;

	put_quota(w, "q", "{'hard':{'cpu':'1000m','pods':3,'what':'1'}}");
	quota_flush(quota);
	world_settle(w);
	obj = world_get(w, "", "resourcequotas", "w", "q");
	text = js_text_sorted(json_object_get(obj, "status"), NULL);
	assert_string_equal(text, "{\"hard\":{\"cpu\":\"1\",\"pods\":\"3\","
				  "\"what\":\"1\"},"
				  "\"used\":{\"cpu\":\"0\",\"pods\":\"0\"}}");
	quota_free(quota);
}

static void
test_status_is_written_by_itself_and_not_again(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);
	AUTO(js_unref) json_t *obj = NULL;
	uint64_t rv;

	put_quota(w, "q", "{'hard':{'pods':'3'}}");
	loop_poll(w->loop);
	world_settle(w);
	obj = world_get(w, "", "resourcequotas", "w", "q");
	assert_string_equal(js_str_at(obj, "status.used.pods"), "0");
	rv = store_rv(w->store);
	world_put(w, "", "configmaps", MAP("a"));
	world_settle(w);
	quota_flush(quota);
	assert_int_equal(store_rv(w->store), rv + 1);
	quota_free(quota);
}

static void
test_other_namespaces_and_subresources_are_not_charged(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);
	struct admission_request req;

	put_quota(w, "q", "{'hard':{'configmaps':'0','pods':'0'}}");
	assert_charge(w, quota,
		      world_create(w, "", "configmaps",
				   "{'metadata':{'name':'a',"
				   "'namespace':'x'}}"),
		      NULL);
	req = world_create(w, "", "pods", POD("a", "1"));
	req.subresource = "eviction";
	req.dry_run = true;
	assert_charge(w, quota, req, NULL);
	quota_free(quota);
}

static void
test_a_quota_of_too_many_names_is_refused(void **state)
{
	struct world *w = *state;
	struct quota *quota = start(w);
	struct admission_request req =
		world_create(w, "", "resourcequotas",
			     "{'metadata':{'name':'q','namespace':'w'}}");
	json_t *hard = js_make_obj_at(req.object, "spec.hard");
	char name[32];

	for (int i = 0; i <= TALLY_LIMITS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "count/x%d", i);
		(void)json_object_set_new(hard, name, json_string("1"));
	}
	assert_charge(w, quota, req,
		      "resourcequotas \"q\" is forbidden: spec.hard has too "
		      "many names");
	quota_free(quota);
}

#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_what_would_exceed_is_refused_in_kubernetes_words),
		CASE(test_kinds_of_users_are_counted_by_group),
		CASE(test_writes_that_are_not_on_disk_yet_count),
		CASE(test_a_dry_run_is_checked_but_not_charged),
		CASE(test_a_write_that_does_not_happen_is_given_back),
		CASE(test_a_reservation_ends_even_if_nobody_writes),
		CASE(test_writes_that_the_disk_refused_are_given_back),
		CASE(test_pods_count_what_they_request_until_they_end),
		CASE(test_a_pod_must_say_what_is_limited),
		CASE(test_a_claim_may_grow_as_far_as_the_quota),
		CASE(test_scopes_choose_among_pods_and_leave_the_rest_alone),
		CASE(test_what_was_there_before_the_quota_is_counted),
		CASE(test_a_changed_spec_is_counted_anew),
		CASE(test_status_has_hard_in_canonical_form),
		CASE(test_status_is_written_by_itself_and_not_again),
		CASE(test_other_namespaces_and_subresources_are_not_charged),
		CASE(test_a_quota_of_too_many_names_is_refused),
	};

	return cmocka_run_group_tests_name("quota", tests, NULL, NULL);
}
