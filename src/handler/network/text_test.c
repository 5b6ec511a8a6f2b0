/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that a plan becomes: rules, dnsmasq's configuration, vif-cache
 * files; and those that are read: records and resolv.conf. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "handler/network/dhcp.h"
#include "handler/network/rules.h"
#include "handler/network/testmodel.h"
#include "handler/network/vifcache.h"

#define VMI(interface)                                                   \
	"{'metadata': {'uid': 'u', 'name': 'vm'}, 'spec': {'networks': " \
	"[{'name': 'default', 'pod': {}}], 'domain': {'devices': "       \
	"{'interfaces': [" interface "]}}}}"
#define MAC "0a:58:0a:f4:01:05"
#define BRIDGED VMI("{'name': 'default', 'bridge': {}}")

struct fixture {
	struct model model;
	struct wants wants;
	struct plan plan;
};

static struct fixture
fixture_new(const char *vmi, const char *ip, const char *gateway)
{
	struct fixture f = { .model = model_new(), .wants = model_wants(vmi) };
	struct err err = { .text = "" };

	model_attach(&f.model, "eth0", MAC, ip, gateway);
	if (plan_setup(&f.model.facts, &f.wants, "p", &f.plan, &err) == -1)
		fail_msg("%s", err.text);
	return f;
}

static void
fixture_done(struct fixture *f)
{
	plan_done(&f->plan);
	wants_done(&f->wants);
	model_done(&f->model);
}

static void
assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void
assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part) != NULL)
		fail_msg("'%s' is in:\n%s", part, text);
}

static void
test_rules_forward_all_or_what_is_listed(void **state)
{
	AUTO(fixture_done)
	struct fixture all =
		fixture_new(VMI("{'name': 'default', 'masquerade': {}}"),
			    "10.1.1.5/24", NULL);
	AUTO(fixture_done)
	struct fixture some = fixture_new(
		VMI("{'name': 'default', 'masquerade': {}, 'ports': [{'port':"
		    " 80}, {'port': 443, 'protocol': 'TCP'}, {'port': 53,"
		    " 'protocol': 'UDP'}]}"),
		"10.1.1.5/24", NULL);
	AUTO(free_ptr) char *every = rules_text(&all.plan);
	AUTO(free_ptr) char *listed = rules_text(&some.plan);

	(void)state;
	assert_has(every, "iifname \"eth0\" meta nfproto ipv4 dnat ip to "
			  "10.0.2.2\n");
	assert_lacks(every, "dport");
	assert_lacks(every, "ip6");
	assert_has(listed, "meta nfproto ipv4 tcp dport { 80, 443 } dnat ip "
			   "to 10.0.2.2\n");
	assert_has(listed, "meta nfproto ipv4 udp dport { 53 } dnat");
	assert_has(listed, "ip daddr 127.0.0.1 tcp dport { 80, 443 } dnat");
	assert_has(listed, "ip saddr 10.0.2.2 oifname \"eth0\" masquerade\n");
	assert_lacks(listed, "nfproto ipv4 dnat");
	assert_lacks(listed, "table bridge ferry {");
}

static void
test_bridged_guests_ask_only_the_pod(void **state)
{
	AUTO(fixture_done)
	struct fixture served = fixture_new(BRIDGED, "10.1.1.5/24", NULL);
	AUTO(fixture_done)
	struct fixture bare = fixture_new(BRIDGED, NULL, NULL);
	AUTO(free_ptr) char *guarded = rules_text(&served.plan);
	AUTO(free_ptr) char *open = rules_text(&bare.plan);

	(void)state;
	assert_has(guarded, "iifname \"tap0\" udp dport 67 drop");
	assert_lacks(guarded, "masquerade");
	assert_string_equal(open, rules_none);
}

static void
test_a_lease_says_what_the_pod_had(void **state)
{
	static const struct resolv no_resolv;
	AUTO(fixture_done)
	struct fixture near = fixture_new(BRIDGED, "10.1.1.5/20", "10.1.1.1");
	AUTO(fixture_done)
	struct fixture far = fixture_new(BRIDGED, "10.1.1.5/32", "169.254.1.1");
	AUTO(fixture_done)
	struct fixture bare = fixture_new(BRIDGED, NULL, NULL);
	AUTO(free_ptr)
	char *one = dhcp_config(&near.plan, &no_resolv, "vm");
	AUTO(free_ptr) char *two = dhcp_config(&far.plan, &no_resolv, "");

	(void)state;
	assert_has(one, "interface=k6t-eth0\n"
			"dhcp-host=" MAC ",set:i0,10.1.1.5,vm,infinite\n"
			"dhcp-range=10.1.1.5,static,255.255.240.0,infinite\n"
			"shared-network=k6t-eth0,10.1.1.5\n"
			"dhcp-option=tag:i0,option:router,10.1.1.1\n"
			"dhcp-option=tag:i0,26,1500\n");
	assert_lacks(one, ",121,");
	assert_lacks(one, "dns-server");
	assert_has(two, "set:i0,10.1.1.5,infinite\n");
	assert_has(two, "static,255.255.255.255,");
	assert_has(two, "dhcp-option=tag:i0,121,169.254.1.1/32,0.0.0.0,"
			"0.0.0.0/0,169.254.1.1\n");
	assert_null(dhcp_config(&bare.plan, &no_resolv, "vm"));
}

static void
test_a_guest_without_a_router_is_told_of_none(void **state)
{
	static const struct resolv no_resolv;
	AUTO(fixture_done)
	struct fixture f = fixture_new(BRIDGED, "10.1.1.5/24", NULL);
	AUTO(free_ptr) char *text = dhcp_config(&f.plan, &no_resolv, "vm");

	(void)state;
	assert_has(text, "dhcp-option=tag:i0,option:router\n");
}

static void
test_ipv6_is_advertised_where_there_is_some(void **state)
{
	struct resolv resolv;
	AUTO(fixture_done)
	struct fixture f =
		fixture_new(VMI("{'name': 'default', 'masquerade': {}}"),
			    "fd77::5/64", NULL);
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	resolv_parse("nameserver fd96::a\nnameserver 10.96.0.10\n"
		     "search a.example b.example\n",
		     &resolv);
	text = dhcp_config(&f.plan, &resolv, "vm");
	assert_has(text, ",10.0.2.2,[fd10:0:2::2],vm,infinite\n");
	assert_has(text, "enable-ra\n"
			 "dhcp-range=fd10:0:2::2,static,120,infinite\n"
			 "ra-param=k6t-eth0,mtu:1500,60,1800\n");
	assert_has(text, "tag:i0,option:dns-server,10.96.0.10\n");
	assert_has(text, "tag:i0,option6:dns-server,[fd96::a]\n");
	assert_has(text, "tag:i0,option6:domain-search,a.example,b.example\n");
}

static void
test_resolv_conf_is_taken_only_where_it_is_plain(void **state)
{
	struct resolv resolv;
	char ip[IP_TEXT_SIZE];

	(void)state;
	resolv_parse("# nameserver 1.1.1.1\n"
		     "nameserver 127.0.0.53\nnameserver ::1\n"
		     "nameserver 10.0.0.1,10.0.0.2\nnameserver\n"
		     "  nameserver\t10.0.0.3 # text\r\n"
		     "search gone.example\nsearch a.example b,c -d .e f\tg/h\n"
		     "options ndots:5\n",
		     &resolv);
	assert_int_equal(resolv.server_count, 1);
	assert_string_equal(ip_text(&resolv.servers[0], ip), "10.0.0.3");
	assert_int_equal(resolv.search_count, 2);
	assert_string_equal(resolv.search[0], "a.example");
	assert_string_equal(resolv.search[1], "f");
}

static void
test_resolv_conf_without_end_is_cut(void **state)
{
	struct resolv resolv;
	AUTO(buf_done) struct buf buf = BUF_INIT(BUF_UNLIMITED);

	(void)state;
	(void)buf_append_str(&buf, "search");
	for (int i = 0; i < 1000; i++)
		(void)buf_printf(&buf, " d%d", i);
	for (int i = 0; i < 100; i++)
		(void)buf_printf(&buf, "\nnameserver 10.0.0.%d", i + 1);
	resolv_parse((char *)buf.data, &resolv);
	assert_int_equal(resolv.server_count, RESOLV_SERVERS_MAX);
	assert_int_equal(resolv.search_count, RESOLV_SEARCH_MAX);
	resolv_read(-1, &resolv);
	assert_int_equal(resolv.server_count, 0);
}

static void
test_a_record_reads_back_as_it_was_written(void **state)
{
	static const char *const texts[] = {
		"ferry1 mac=" MAC,
		"ferry1 mac=" MAC " ip=10.1.1.5/24",
		"ferry1 mac=" MAC " ip=10.1.1.5/24 ip=fd77::5/64 ip=::/0"
		" ip=1111:2222:3333:4444:5555:6666:7777:8888/128",
	};
	char text[LINK_ALIAS_MAX + 1];
	struct netrecord record;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(netrecord_parse(texts[i], &record, &err), 0);
		netrecord_text(&record, text);
		assert_string_equal(text, texts[i]);
	}
}

static void
test_what_is_no_record_is_told_from_a_damaged_one(void **state)
{
	static const char *const none[] = { "", "ferry", "ferry10 mac=x",
					    "my own note" };
	static const char *const damaged[] = {
		"ferry1",
		"ferry1 mac=",
		"ferry1 ip=10.0.0.1/8",
		"ferry1 mac=" MAC " ip=10.0.0.1/99",
		"ferry1 mac=" MAC " what=1",
		"ferry1 mac=" MAC " ip=::1 ip=::1 ip=::1 ip=::1 ip=::1",
	};
	struct netrecord record;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		assert_int_equal(netrecord_parse(none[i], &record, &err), -1);
		assert_int_equal(err.kind, ERR_NOT_FOUND);
	}
	for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
		assert_int_equal(netrecord_parse(damaged[i], &record, &err),
				 -1);
		assert_int_equal(err.kind, ERR_CONFLICT);
	}
}

#define FILE_NAME "vif-cache-eth0.json"

static void
test_a_vif_cache_is_replaced_whatever_is_in_its_place(void **state)
{
	AUTO(fixture_done)
	struct fixture f = fixture_new(BRIDGED, "10.1.1.5/24", "10.1.1.1");
	const struct plan_interface *i = &f.plan.interfaces[0];
	char dir[] = "/tmp/vifcache-XXXXXX", why[200];
	AUTO(close_fd) int fd = -1;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(vifcache_check(fd, i, why, sizeof(why)),
			 VIFCACHE_MISSING);
	for (int what = 0; what < 4; what++) {
		assert_int_equal(vifcache_write(fd, i, &err), 0);
		assert_int_equal(vifcache_check(fd, i, why, sizeof(why)),
				 VIFCACHE_RIGHT);
		assert_int_equal(unlinkat(fd, FILE_NAME, 0), 0);
		if (what == 0)
			assert_int_equal(mkdirat(fd, FILE_NAME, 0700), 0);
		else if (what == 1)
			assert_int_equal(symlinkat("other", fd, FILE_NAME), 0);
		else if (what == 2)
			assert_int_equal(mkfifoat(fd, FILE_NAME, 0600), 0);
		else
			continue;
		assert_int_equal(vifcache_check(fd, i, why, sizeof(why)),
				 VIFCACHE_DAMAGED);
	}
	assert_int_equal(vifcache_write(fd, i, &err), 0);
	assert_int_equal(vifcache_remove_all(fd, &err), 0);
	assert_int_equal(vifcache_remove_all(fd, &err), 0);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_forward_all_or_what_is_listed),
		cmocka_unit_test(test_bridged_guests_ask_only_the_pod),
		cmocka_unit_test(test_a_lease_says_what_the_pod_had),
		cmocka_unit_test(test_a_guest_without_a_router_is_told_of_none),
		cmocka_unit_test(test_ipv6_is_advertised_where_there_is_some),
		cmocka_unit_test(
			test_resolv_conf_is_taken_only_where_it_is_plain),
		cmocka_unit_test(test_resolv_conf_without_end_is_cut),
		cmocka_unit_test(test_a_record_reads_back_as_it_was_written),
		cmocka_unit_test(
			test_what_is_no_record_is_told_from_a_damaged_one),
		cmocka_unit_test(
			test_a_vif_cache_is_replaced_whatever_is_in_its_place),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
