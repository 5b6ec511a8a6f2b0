/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/leader.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/client.h"
#include "kube/testapi.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/w/leases"
#define LEASE(holder, renewed, version)                                       \
	"{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"" version        \
	"\"},\"spec\":{\"holderIdentity\":\"" holder                          \
	"\",\"leaseDurationSeconds\":1,\"leaseTransitions\":4,\"renewTime\":" \
	"\"2026-01-01T00:00:0" renewed ".000000Z\"}}"

#define LEASE_MS 1000
#define RENEW_MS 600
#define RETRY_MS 50

static struct testapi api;
static struct kube_client *client;
static struct leader *leader;
static unsigned started;
static unsigned stopped;
static unsigned released;
static unsigned changed;
static uint64_t stopped_ms;
static char holder[64];

static void
on_started(void *arg)
{
	(void)arg;
	assert_true(leader_leads(leader));
	started++;
}

static void
on_stopped(void *arg)
{
	(void)arg;
	assert_false(leader_leads(leader));
	stopped++;
	stopped_ms = loop_now_ms();
}

static void
on_changed(const char *who, void *arg)
{
	(void)arg;
	changed++;
	(void)snprintf(holder, sizeof(holder), "%s", who);
}

static void
on_released(void *arg)
{
	(void)arg;
	released++;
}

static int
setup(void **state)
{
	struct leader_config config = { .ns = "w",
					.name = "l",
					.identity = "me",
					.lease_ms = LEASE_MS,
					.renew_ms = RENEW_MS,
					.retry_ms = RETRY_MS,
					.started = on_started,
					.stopped = on_stopped,
					.changed = on_changed };

	(void)state;
	testapi_start(&api);
	client = testapi_client(&api, NULL);
	config.client = client;
	started = stopped = released = changed = 0;
	holder[0] = '\0';
	leader = leader_new(&config);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	leader_free(leader);
	kube_client_free(client);
	testapi_stop(&api);
	return 0;
}

static void
say(const char *expect, int code, const char *body)
{
	testapi_say(&api, (struct testapi_step){ .expect = expect,
						 .code = code,
						 .body = body });
}

static json_t *
body_of(unsigned request)
{
	struct err err;
	json_t *body = js_parse(api.bodies[request],
				strlen(api.bodies[request]), &err);

	assert_non_null(body);
	return body;
}

/* Makes the Lease and leads. */
static void
lead(void)
{
	say("GET " LEASES "/l", 404, "");
	say("POST " LEASES, 201, LEASE("me", "1", "1"));
	testapi_until_count(&api, &started, 1);
	assert_string_equal(leader_holder(leader), "me");
}

static void
test_who_finds_no_lease_makes_one_and_renews_it(void **state)
{
	AUTO(js_unref) json_t *made = NULL;
	AUTO(js_unref) json_t *renewed = NULL;

	(void)state;
	lead();
	say("PUT " LEASES "/l", 200, LEASE("me", "2", "2"));
	say("PUT " LEASES "/l", 200, LEASE("me", "3", "3"));
	testapi_say(&api, (struct testapi_step){ .kind = TESTAPI_HOLD });
	testapi_until_count(&api, &api.handled, 5);
	made = body_of(1);
	assert_string_equal(js_str_at(made, "spec.holderIdentity"), "me");
	assert_int_equal(js_int_at(made, "spec.leaseDurationSeconds", 0), 1);
	assert_int_equal(js_int_at(made, "spec.leaseTransitions", -1), 0);
	assert_true(*js_str_at(made, "spec.acquireTime") != '\0');
	/* Conditional on what was seen, and the same reign. */
	renewed = body_of(3);
	assert_string_equal(js_str_at(renewed, "metadata.resourceVersion"),
			    "2");
	assert_int_equal(js_int_at(renewed, "spec.leaseTransitions", 0), 4);
	assert_int_equal(started, 1);
	assert_int_equal(stopped, 0);
	assert_true(leader_may_write(leader));
}

static void
test_a_lease_of_another_is_taken_when_it_rests_for_its_time(void **state)
{
	AUTO(js_unref) json_t *taken = NULL;
	uint64_t changed_ms;
	unsigned reads;

	(void)state;
	say("GET " LEASES "/l", 200, LEASE("other", "1", "7"));
	say("GET " LEASES "/l", 200, LEASE("other", "2", "8"));
	testapi_until_count(&api, &api.handled, 2);
	changed_ms = loop_now_ms();
	/* It does not change from here on, whatever its times say. */
	for (int i = 0; i < 40; i++)
		say(NULL, 200, LEASE("other", "2", "8"));
	while (!str_has_prefix(api.requests[api.handled - 1], "PUT"))
		testapi_until_count(&api, &api.handled, api.handled + 1);
	assert_true(loop_now_ms() - changed_ms >= LEASE_MS - RETRY_MS);
	reads = api.handled - 1;
	assert_true(reads >= 5);
	taken = body_of(reads);
	assert_string_equal(js_str_at(taken, "spec.holderIdentity"), "me");
	assert_string_equal(js_str_at(taken, "metadata.resourceVersion"), "8");
	assert_int_equal(js_int_at(taken, "spec.leaseTransitions", 0), 5);
}

static void
test_a_lease_that_nobody_holds_is_taken_at_once(void **state)
{
	(void)state;
	say("GET " LEASES "/l", 200, LEASE("", "1", "7"));
	say("PUT " LEASES "/l", 200, LEASE("me", "2", "8"));
	testapi_until_count(&api, &started, 1);
	assert_string_equal(holder, "me");
}

static void
test_who_loses_the_race_waits(void **state)
{
	(void)state;
	say("GET " LEASES "/l", 200, LEASE("", "1", "7"));
	say("PUT " LEASES "/l", 409, "");
	say("GET " LEASES "/l", 200, LEASE("other", "2", "8"));
	testapi_until_count(&api, &changed, 1);
	assert_string_equal(holder, "other");
	assert_int_equal(started, 0);
	assert_false(leader_leads(leader));
}

static void
test_who_cannot_renew_steps_down_before_others_may_take_over(void **state)
{
	uint64_t led_ms;

	(void)state;
	lead();
	led_ms = loop_now_ms();
	for (int i = 0; i < 60; i++)
		say(NULL, 500, "");
	testapi_until_count(&api, &stopped, 1);
	/* The last renewal was sent some time before it led. */
	assert_in_range(stopped_ms - led_ms, RENEW_MS / 2, LEASE_MS);
	assert_false(leader_may_write(leader));
}

static void
test_a_server_that_never_answers_does_not_keep_it_leading(void **state)
{
	(void)state;
	lead();
	for (int i = 0; i < 10; i++)
		testapi_say(&api,
			    (struct testapi_step){ .kind = TESTAPI_HOLD });
	testapi_until_count(&api, &stopped, 1);
	assert_false(leader_leads(leader));
}

static void
test_it_leads_again_when_the_server_is_back(void **state)
{
	(void)state;
	lead();
	testapi_close(&api);
	testapi_until_count(&api, &stopped, 1);
	for (int i = 0; i < 10; i++)
		say(NULL, 200, LEASE("me", "5", "9"));
	testapi_reopen(&api);
	testapi_until_count(&api, &started, 2);
}

static void
test_a_lease_that_was_taken_away_is_given_up_at_once(void **state)
{
	uint64_t led_ms;

	(void)state;
	lead();
	led_ms = loop_now_ms();
	say("PUT " LEASES "/l", 409, "");
	say("GET " LEASES "/l", 200, LEASE("other", "2", "8"));
	for (int i = 0; i < 10; i++)
		say("GET " LEASES "/l", 200, LEASE("other", "3", "9"));
	testapi_until_count(&api, &stopped, 1);
	assert_true(loop_now_ms() - led_ms < RENEW_MS);
	assert_string_equal(holder, "other");
}

static void
test_a_conflict_with_itself_does_not_end_a_reign(void **state)
{
	(void)state;
	lead();
	say("PUT " LEASES "/l", 409, "");
	say("GET " LEASES "/l", 200, LEASE("me", "2", "8"));
	say("PUT " LEASES "/l", 200, LEASE("me", "3", "9"));
	testapi_say(&api, (struct testapi_step){ .kind = TESTAPI_HOLD });
	testapi_until_count(&api, &api.handled, 6);
	assert_int_equal(stopped, 0);
	assert_int_equal(started, 1);
}

static void
test_who_stops_gives_the_lease_back(void **state)
{
	AUTO(js_unref) json_t *given = NULL;

	(void)state;
	lead();
	say("PUT " LEASES "/l", 200, LEASE("", "2", "2"));
	leader_stop(leader, on_released, NULL);
	assert_int_equal(stopped, 1);
	assert_int_equal(released, 0);
	testapi_until_count(&api, &released, 1);
	given = body_of(2);
	assert_string_equal(js_str_at(given, "spec.holderIdentity"), "");
	assert_int_equal(js_int_at(given, "spec.leaseTransitions", 0), 4);
	testapi_spend(&api, 2 * RETRY_MS);
	assert_int_equal(released, 1);
	assert_int_equal(api.handled, 3);
}

static void
test_who_does_not_lead_just_stops(void **state)
{
	(void)state;
	say("GET " LEASES "/l", 200, LEASE("other", "1", "7"));
	testapi_until_count(&api, &changed, 1);
	leader_stop(leader, on_released, NULL);
	testapi_until_count(&api, &released, 1);
	assert_int_equal(stopped, 0);
	assert_int_equal(api.handled, 1);
}

static void
test_identities_differ(void **state)
{
	AUTO(free_ptr) char *a = leader_make_identity();
	AUTO(free_ptr) char *b = leader_make_identity();

	(void)state;
	say("GET " LEASES "/l", 404, "");
	say("POST " LEASES, 500, "");
	assert_string_not_equal(a, b);
	assert_non_null(strchr(a, '_'));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_who_finds_no_lease_makes_one_and_renews_it),
		TEST(test_a_lease_of_another_is_taken_when_it_rests_for_its_time),
		TEST(test_a_lease_that_nobody_holds_is_taken_at_once),
		TEST(test_who_loses_the_race_waits),
		TEST(test_who_cannot_renew_steps_down_before_others_may_take_over),
		TEST(test_a_server_that_never_answers_does_not_keep_it_leading),
		TEST(test_it_leads_again_when_the_server_is_back),
		TEST(test_a_lease_that_was_taken_away_is_given_up_at_once),
		TEST(test_a_conflict_with_itself_does_not_end_a_reign),
		TEST(test_who_stops_gives_the_lease_back),
		TEST(test_who_does_not_lead_just_stops),
		TEST(test_identities_differ),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	js_init();
	return cmocka_run_group_tests_name("leader", tests, NULL, NULL);
}
