/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, routes and neighbours. */
#include "net/route.h"

#include <stdlib.h>
#include <string.h>

#include "net/address.h"
#include "net/neighbour.h"
#include "net/testnet.h"

/* A namespace with a bridge that is up. */
static struct testnet
net_with_bridge(void)
{
	struct testnet net = testnet_new();
	struct link_spec spec = { "br", NULL, 0 };

	assert_ok(link_add_bridge(net.nl, &spec, err));
	assert_ok(link_set_up(net.nl, "br", true, err));
	return net;
}

static const struct address *
find_address(const struct testnet *net, const char *text)
{
	static struct address found;
	AUTO(free_ptr) struct address *list = NULL;
	struct ip_prefix want = testnet_prefix(text);
	size_t count = 0;

	assert_ok(address_list(net->nl, &list, &count, err));
	for (size_t i = 0; i < count; i++) {
		found = list[i];
		if (ip_prefix_equal(&found.ip, &want))
			return &found;
	}
	return NULL;
}

static const struct route *
find_route(const struct testnet *net, const char *to, uint32_t table)
{
	static struct route found;
	AUTO(free_ptr) struct route *list = NULL;
	struct ip_prefix want = testnet_prefix(to);
	size_t count = 0;

	assert_ok(route_list(net->nl, &list, &count, err));
	for (size_t i = 0; i < count; i++) {
		found = list[i];
		if (ip_prefix_equal(&found.to, &want) && found.table == table)
			return &found;
	}
	return NULL;
}

static void
test_addresses_come_and_go(void **state)
{
	static const char *const texts[] = { "10.1.2.3/24", "192.168.7.1/32",
					     "fd10:0:2::1/120" };
	AUTO(testnet_done) struct testnet net = net_with_bridge();
	int link = testnet_link(&net, "br").index;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ip_prefix ip = testnet_prefix(texts[i]);
		const struct address *found;

		assert_ok(address_add(net.nl, "br", &ip, err));
		assert_ok(address_add(net.nl, "br", &ip, err));
		found = find_address(&net, texts[i]);
		assert_non_null(found);
		assert_int_equal(found->link, link);
		assert_true(found->global && found->permanent);
		assert_ok(address_delete(net.nl, "br", &ip, err));
		assert_null(find_address(&net, texts[i]));
		assert_ok(address_delete(net.nl, "br", &ip, err));
		assert_fails(address_add(net.nl, "nix", &ip, err),
			     ERR_NOT_FOUND);
	}
	assert_false(find_address(&net, "127.0.0.1/8")->global);
}

static void
test_routes_come_and_go(void **state)
{
	AUTO(testnet_done) struct testnet net = net_with_bridge();
	struct ip_prefix own = testnet_prefix("10.1.2.3/24");
	struct route via = { .to = testnet_prefix("0.0.0.0/0"),
			     .gateway = testnet_ip("10.1.2.1"),
			     .link = testnet_link(&net, "br").index };
	struct route plain = { .to = testnet_prefix("10.9.0.0/16"),
			       .link = via.link };
	const struct route *found;

	(void)state;
	assert_fails(route_add(net.nl, &via, err), ERR_UNAVAILABLE);
	assert_ok(address_add(net.nl, "br", &own, err));
	assert_ok(route_add(net.nl, &via, err));
	assert_ok(route_add(net.nl, &via, err));
	assert_ok(route_add(net.nl, &plain, err));
	found = find_route(&net, "0.0.0.0/0", ROUTE_TABLE_MAIN);
	assert_non_null(found);
	assert_true(ip_equal(&found->gateway, &via.gateway));
	assert_false(found->learned);
	assert_true(find_route(&net, "10.1.2.0/24", ROUTE_TABLE_MAIN)->learned);
	assert_int_equal(find_route(&net, "10.9.0.0/16", ROUTE_TABLE_MAIN)
				 ->gateway.family,
			 0);
	assert_ok(route_delete(net.nl, &via, err));
	assert_null(find_route(&net, "0.0.0.0/0", ROUTE_TABLE_MAIN));
	assert_ok(route_delete(net.nl, &via, err));
}

static void
test_a_route_may_lie_in_a_table_of_its_own(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();
	struct route kept = { .to = testnet_prefix("10.5.0.0/16"),
			      .gateway = testnet_ip("169.254.1.1"),
			      .link = testnet_link(&net, "lo").index,
			      .table = 27446,
			      .onlink = true };
	const struct route *found;

	(void)state;
	assert_ok(route_add(net.nl, &kept, err));
	found = find_route(&net, "10.5.0.0/16", 27446);
	assert_non_null(found);
	assert_true(ip_equal(&found->gateway, &kept.gateway));
	assert_true(found->onlink);
	assert_null(find_route(&net, "10.5.0.0/16", ROUTE_TABLE_MAIN));
	assert_ok(route_delete(net.nl, &kept, err));
	assert_null(find_route(&net, "10.5.0.0/16", 27446));
}

static void
test_ipv6_routes_have_gateways_too(void **state)
{
	AUTO(testnet_done) struct testnet net = net_with_bridge();
	struct ip_prefix own = testnet_prefix("fd10:0:2::1/120");
	struct route via = { .to = testnet_prefix("::/0"),
			     .gateway = testnet_ip("fd10:0:2::2"),
			     .link = testnet_link(&net, "br").index };
	const struct route *found;

	(void)state;
	assert_ok(address_add(net.nl, "br", &own, err));
	assert_ok(route_add(net.nl, &via, err));
	found = find_route(&net, "::/0", ROUTE_TABLE_MAIN);
	assert_non_null(found);
	assert_true(ip_equal(&found->gateway, &via.gateway));
}

static bool
knows(const struct testnet *net, const struct ip *ip, const struct mac *mac)
{
	AUTO(free_ptr) struct neighbour *list = NULL;
	size_t count = 0;

	assert_ok(neighbour_list(net->nl, &list, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (ip_equal(&list[i].ip, ip))
			return list[i].permanent &&
			       mac_equal(&list[i].mac, mac);
	}
	return false;
}

static void
test_neighbours_come_and_go(void **state)
{
	static const char *const texts[] = { "10.1.2.3", "fd10::3" };
	AUTO(testnet_done) struct testnet net = net_with_bridge();
	struct mac mac = testnet_mac("02:00:00:00:00:03");

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ip ip = testnet_ip(texts[i]);

		assert_ok(neighbour_add(net.nl, "br", &ip, &mac, err));
		assert_true(knows(&net, &ip, &mac));
		assert_ok(neighbour_delete(net.nl, "br", &ip, err));
		assert_false(knows(&net, &ip, &mac));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_come_and_go),
		cmocka_unit_test(test_routes_come_and_go),
		cmocka_unit_test(test_a_route_may_lie_in_a_table_of_its_own),
		cmocka_unit_test(test_ipv6_routes_have_gateways_too),
		cmocka_unit_test(test_neighbours_come_and_go),
	};

	return cmocka_run_group_tests_name("route", tests, NULL, NULL);
}
