/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/plan.h"

#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "handler/network/testmodel.h"

#define POD_MAC "0a:58:0a:f4:01:05"
#define LAN "pod094a367b026" /* printf lan | sha256sum */

#define VMI(interfaces, networks)                                            \
	"{'metadata': {'uid': 'u', 'name': 'vm'}, 'spec': {'networks':"      \
	" [" networks "], 'domain': {'devices': {'interfaces': [" interfaces \
	"]}}}}"
#define POD_NETWORK "{'name': 'default', 'pod': {}}"
#define BRIDGED VMI("{'name': 'default', 'bridge': {}}", POD_NETWORK)
#define MASQUERADED VMI("{'name': 'default', 'masquerade': {}}", POD_NETWORK)
#define LAN_NETWORK "{'name': 'lan', 'multus': {'networkName': 'x'}}"

static const char *const machines[] = {
	BRIDGED,
	MASQUERADED,
	VMI("{'name': 'default', 'masquerade': {}, 'ports': [{'port': 80}],"
	    " 'macAddress': '02:00:00:00:00:77'}",
	    POD_NETWORK),
	/* The guest has the MAC that the pod's interface was given. */
	VMI("{'name': 'default', 'bridge': {}, 'macAddress': '" POD_MAC "'}",
	    POD_NETWORK),
	VMI("{'name': 'default', 'bridge': {}, 'macAddress':"
	    " '02:00:00:00:00:77'}",
	    POD_NETWORK),
	VMI("{'name': 'lan', 'bridge': {}}", LAN_NETWORK),
	VMI("{'name': 'default', 'masquerade': {}}, {'name': 'lan', 'bridge':"
	    " {}}",
	    POD_NETWORK ", " LAN_NETWORK),
	VMI("{'name': 'lan', 'bridge': {}}, {'name': 'default', 'bridge': {}}",
	    POD_NETWORK ", " LAN_NETWORK),
};

/* ---- pods as CNI plugins make them ---- */

static void
pod_plain(struct model *m)
{
	model_attach(m, "eth0", POD_MAC, "10.244.1.5/24", "10.244.1.1");
	model_attach(m, LAN, "0a:00:00:00:00:01", NULL, NULL);
}

static void
pod_rich(struct model *m)
{
	model_attach(m, "eth0", POD_MAC, "10.244.1.5/24", "10.244.1.1");
	model_route(m, "eth0", "10.96.0.0/12", "10.244.1.9");
	model_route(m, "eth0", "10.99.0.0/16", NULL);
	model_address(m, "eth0", "fd77::5/64");
	model_link(m, "eth0")->mtu = 8950;
	model_attach(m, LAN, "0a:00:00:00:00:01", "192.168.7.5/24",
		     "192.168.7.1");
	m->facts.routes[m->facts.route_count - 1].metric = 100;
	model_address(m, LAN, "192.168.8.5/24");
}

static void
pod_lonely(struct model *m)
{
	model_attach(m, "eth0", POD_MAC, "10.244.1.5/32", "169.254.1.1");
	model_route(m, "eth0", "169.254.1.1/32", NULL);
	/* Named by number, down, and with the MAC that was asked for. */
	model_attach(m, "net1", "02:00:00:00:00:77", NULL, NULL);
	model_link(m, "net1")->up = false;
}

static void
pod_worn(struct model *m)
{
	struct route stale = { .table = NETFACTS_TABLE + 2, .link = 1 };
	struct op old_tap = { .kind = OP_ADD_TAP, .link = "tap0", .number = 4 };
	struct err err;

	pod_plain(m);
	/* Left by others: a tap of another shape, records of nothing. */
	model_apply(m, &old_tap);
	assert_int_equal(ip_prefix_parse("10.0.0.0/8", &stale.to, &err), 0);
	m->facts.routes[m->facts.route_count++] = stale;
}

static void (*const pods[])(struct model *m) = { pod_plain, pod_rich,
						 pod_lonely, pod_worn };

static void
plan_all(const struct model *model, const struct wants *wants,
	 struct plan *plan)
{
	struct err err = { .text = "" };

	if (plan_setup(&model->facts, wants, "pod-uid", plan, &err) == -1)
		fail_msg("%s", err.text);
}

/* Plans and applies up to so many steps; returns how many there were. */
static size_t
run_steps(struct model *model, const struct wants *wants, size_t steps)
{
	AUTO(plan_done) struct plan plan = { .pod_uid = NULL };
	size_t count;

	plan_all(model, wants, &plan);
	count = plan.ops.count;
	for (size_t i = 0; i < count && i < steps; i++)
		model_apply(model, &plan.ops.items[i]);
	return count;
}

/* What the guest is told, as text. */
static char *
told(const struct model *model, const struct wants *wants)
{
	AUTO(plan_done) struct plan plan = { .pod_uid = NULL };
	struct buf buf = BUF_INIT(BUF_UNLIMITED);
	char mac[MAC_TEXT_SIZE], ip[IP_PREFIX_TEXT_SIZE], via[IP_TEXT_SIZE];

	plan_all(model, wants, &plan);
	for (size_t n = 0; n < plan.interface_count; n++) {
		const struct plan_interface *i = &plan.interfaces[n];

		(void)buf_printf(&buf, "%s %s %s %s %u", i->pod, i->bridge,
				 i->tap, mac_text(&i->mac, mac), i->mtu);
		(void)buf_printf(&buf, " %s", ip_prefix_text(&i->guest4, ip));
		(void)buf_printf(&buf, " %s", ip_text(&i->router4, via));
		(void)buf_printf(&buf, " %s", ip_text(&i->server4, via));
		(void)buf_printf(&buf, " %zu", i->route_count);
		(void)buf_printf(&buf, " %s\n", ip_prefix_text(&i->guest6, ip));
	}
	return (char *)buf.data;
}

static void
each_pod_and_machine(void (*check)(const struct model *model,
				   const struct wants *wants))
{
	for (size_t p = 0; p < ARRAY_LEN(pods); p++) {
		for (size_t m = 0; m < ARRAY_LEN(machines); m++) {
			AUTO(model_done) struct model model = model_new();
			AUTO(wants_done)
			struct wants wants = model_wants(machines[m]);

			pods[p](&model);
			check(&model, &wants);
		}
	}
}

/* ---- */

static void
check_nothing_is_left_to_do(const struct model *before,
			    const struct wants *wants)
{
	AUTO(model_done) struct model model = model_copy(before);
	AUTO(plan_done) struct plan plan = { .pod_uid = NULL };
	AUTO(free_ptr) char *first = told(before, wants);
	AUTO(free_ptr) char *second = NULL;

	(void)run_steps(&model, wants, SIZE_MAX);
	plan_all(&model, wants, &plan);
	assert_int_equal(ops_changes(&plan.ops), 0);
	second = told(&model, wants);
	assert_string_equal(second, first);
}

static void
test_what_was_done_is_not_done_again(void **state)
{
	(void)state;
	each_pod_and_machine(check_nothing_is_left_to_do);
}

static void
check_any_prefix_is_completed(const struct model *before,
			      const struct wants *wants)
{
	AUTO(model_done) struct model straight = model_copy(before);
	AUTO(free_ptr) char *first = told(before, wants);
	AUTO(free_ptr) char *wanted = NULL;
	size_t steps = run_steps(&straight, wants, SIZE_MAX);

	wanted = model_text(&straight);
	for (size_t one = 0; one <= steps; one++) {
		for (size_t two = 0; two <= steps; two += 3) {
			AUTO(model_done) struct model m = model_copy(before);
			AUTO(free_ptr) char *text = NULL;
			AUTO(free_ptr) char *second = NULL;

			(void)run_steps(&m, wants, one);
			(void)run_steps(&m, wants, two);
			second = told(&m, wants);
			assert_string_equal(second, first);
			(void)run_steps(&m, wants, SIZE_MAX);
			text = model_text(&m);
			assert_string_equal(text, wanted);
		}
	}
}

static void
test_a_plan_stopped_twice_anywhere_is_completed(void **state)
{
	(void)state;
	each_pod_and_machine(check_any_prefix_is_completed);
}

static void
run_teardown(struct model *model, size_t steps)
{
	AUTO(plan_done) struct plan plan = { .pod_uid = NULL };
	struct err err = { .text = "" };

	if (plan_teardown(&model->facts, &plan, &err) == -1)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < plan.ops.count && i < steps; i++)
		model_apply(model, &plan.ops.items[i]);
}

/* Without what was lying around before anything was done, and with all links
 * up: they stay so. */
static char *
text_without_litter(const struct model *model)
{
	AUTO(model_done) struct model m = model_copy(model);
	struct netfacts *f = &m.facts;
	struct link *tap = model_link(&m, "tap0");

	for (size_t i = 0; i < f->link_count; i++)
		f->links[i].up = true;
	if (tap != NULL)
		*tap = f->links[--f->link_count];
	for (size_t i = f->route_count; i > 0; i--) {
		if (f->routes[i - 1].table >= NETFACTS_TABLE)
			f->routes[i - 1] = f->routes[--f->route_count];
	}
	return model_text(&m);
}

static void
check_teardown_gives_back(const struct model *before, const struct wants *wants)
{
	AUTO(free_ptr) char *wanted = text_without_litter(before);
	AUTO(model_done) struct model full = model_copy(before);
	size_t steps = run_steps(&full, wants, SIZE_MAX);

	for (size_t stop = 0; stop <= steps; stop++) {
		for (size_t half = 0; half < 12; half++) {
			AUTO(model_done) struct model m = model_copy(before);
			AUTO(free_ptr) char *text = NULL;

			(void)run_steps(&m, wants, stop);
			run_teardown(&m, half);
			run_teardown(&m, SIZE_MAX);
			text = text_without_litter(&m);
			assert_string_equal(text, wanted);
		}
	}
}

static void
test_teardown_gives_back_whatever_was_taken(void **state)
{
	(void)state;
	each_pod_and_machine(check_teardown_gives_back);
}

/* ---- single decisions ---- */

static void
assert_told(const char *machine, void (*pod)(struct model *), const char *want)
{
	AUTO(model_done) struct model model = model_new();
	AUTO(wants_done) struct wants wants = model_wants(machine);
	AUTO(free_ptr) char *text = NULL;

	pod(&model);
	text = told(&model, &wants);
	assert_string_equal(text, want);
}

static void
test_bridged_guests_get_the_pod_s_address_and_mac(void **state)
{
	(void)state;
	assert_told(BRIDGED, pod_plain,
		    "eth0 k6t-eth0 tap0 " POD_MAC
		    " 1500 10.244.1.5/24 10.244.1.1 169.254.75.10 0 /0\n");
	assert_told(BRIDGED, pod_rich,
		    "eth0 k6t-eth0 tap0 " POD_MAC
		    " 8950 10.244.1.5/24 10.244.1.1 169.254.75.10 2 /0\n");
	assert_told(BRIDGED, pod_lonely,
		    "eth0 k6t-eth0 tap0 " POD_MAC
		    " 1500 10.244.1.5/32 169.254.1.1 169.254.75.10 1 /0\n");
}

static void
test_masqueraded_guests_get_ipv6_where_the_pod_has_it(void **state)
{
	(void)state;
	assert_told(MASQUERADED, pod_plain,
		    "eth0 k6t-eth0 tap0 e6:d2:44:8d:bd:2f 1500 10.0.2.2/24 "
		    "10.0.2.1 10.0.2.1 0 /0\n");
	assert_told(MASQUERADED, pod_rich,
		    "eth0 k6t-eth0 tap0 e6:d2:44:8d:bd:2f 8950 10.0.2.2/24 "
		    "10.0.2.1 10.0.2.1 0 fd10:0:2::2/120\n");
}

static void
test_attachments_are_named_by_hash_or_number(void **state)
{
	(void)state;
	assert_told(
		machines[5], pod_plain,
		LAN
		" k6t-094a367b026 tap094a367b026 62:17:83:ae:23:aa 1500 /0   0 "
		"/0\n");
	assert_told(machines[5], pod_lonely,
		    "net1 k6t-net1 tap1 62:17:83:ae:23:aa 1500 /0   0 /0\n");
}

static void
assert_refused(const char *machine, struct model *model, enum err_kind kind,
	       const char *text)
{
	AUTO(wants_done) struct wants wants = model_wants(machine);
	AUTO(plan_done) struct plan plan = { .pod_uid = NULL };
	struct err err = { .text = "" };

	assert_int_equal(
		plan_setup(&model->facts, &wants, "pod-uid", &plan, &err), -1);
	assert_int_equal(err.kind, kind);
	if (strstr(err.text, text) == NULL)
		fail_msg("%s", err.text);
}

static void
test_what_cannot_be_done_is_refused_before_anything_is(void **state)
{
	AUTO(model_done) struct model model = model_new();

	(void)state;
	assert_refused(BRIDGED, &model, ERR_NOT_FOUND, "no interface 'eth0'");
	pod_plain(&model);
	assert_refused(VMI("{'name': 'x', 'bridge': {}}",
			   "{'name': 'x', 'multus': {'networkName': 'y'}}"),
		       &model, ERR_NOT_FOUND, "or net1 for network 'x'");
	model_attach(&model, "k6t-eth0", "02:00:00:00:00:01", NULL, NULL);
	assert_refused(BRIDGED, &model, ERR_CONFLICT, "is no bridge");
	(void)strcpy(model_link(&model, "k6t-eth0")->kind, "bridge");
	model_attach(&model, "tap0", "02:00:00:00:00:01", NULL, NULL);
	model_link(&model, "tap0")->running = true;
	assert_refused(BRIDGED, &model, ERR_CONFLICT, "'tap0' is in use");
	model_link(&model, "tap0")->running = false;
	(void)strcpy(model_link(&model, "eth0")->alias, "ferry1 mac=nonsense");
	assert_refused(BRIDGED, &model, ERR_CONFLICT, "record is damaged");
	(void)strcpy(model_link(&model, "eth0")->alias, "");
	model_link(&model, "lo")->up = false;
	assert_refused(BRIDGED, &model, ERR_CONFLICT, "loopback is down");
}

static void
test_a_guest_is_served_with_the_first_of_several_addresses(void **state)
{
	AUTO(model_done) struct model model = model_new();
	AUTO(wants_done) struct wants wants = model_wants(BRIDGED);
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	pod_plain(&model);
	model_address(&model, "eth0", "10.244.1.6/24");
	(void)run_steps(&model, &wants, SIZE_MAX);
	text = told(&model, &wants);
	assert_non_null(strstr(text, " 10.244.1.5/24 "));
	model_address(&model, "eth0", "10.244.1.7/24");
	free_ptr(&text);
	(void)run_steps(&model, &wants, SIZE_MAX);
	text = told(&model, &wants);
	assert_non_null(strstr(text, " 10.244.1.5/24 "));
}

static void
test_many_addresses_or_routes_are_a_limit(void **state)
{
	AUTO(model_done) struct model model = model_new();

	(void)state;
	pod_plain(&model);
	for (int i = 0; i < NETFACTS_IPS_MAX; i++)
		model_address(&model, "eth0", "10.1.1.1/24");
	assert_refused(BRIDGED, &model, ERR_LIMIT, "more than 4 addresses");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_done_is_not_done_again),
		cmocka_unit_test(
			test_a_plan_stopped_twice_anywhere_is_completed),
		cmocka_unit_test(test_teardown_gives_back_whatever_was_taken),
		cmocka_unit_test(
			test_bridged_guests_get_the_pod_s_address_and_mac),
		cmocka_unit_test(
			test_masqueraded_guests_get_ipv6_where_the_pod_has_it),
		cmocka_unit_test(test_attachments_are_named_by_hash_or_number),
		cmocka_unit_test(
			test_what_cannot_be_done_is_refused_before_anything_is),
		cmocka_unit_test(
			test_a_guest_is_served_with_the_first_of_several_addresses),
		cmocka_unit_test(test_many_addresses_or_routes_are_a_limit),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
