/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/tap.h"
#include "net/testnet.h"

static void
test_a_bridge_is_made_as_told(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();
	struct mac mac = testnet_mac("02:00:00:00:00:07");
	struct link_spec spec = { "k6t-eth0", &mac, 1400 };
	struct link made;

	(void)state;
	assert_ok(link_add_bridge(net.nl, &spec, err));
	made = testnet_link(&net, "k6t-eth0");
	assert_string_equal(made.kind, "bridge");
	assert_int_equal(made.mtu, 1400);
	assert_true(mac_equal(&made.mac, &mac));
	assert_false(made.up);
	assert_fails(link_add_bridge(net.nl, &spec, err), ERR_EXISTS);
}

static void
test_a_veth_reaches_into_another_namespace(void **state)
{
	AUTO(testnet_done) struct testnet a = testnet_new();
	AUTO(testnet_done) struct testnet b = testnet_new();
	struct mac mac = testnet_mac("02:00:00:00:00:08");
	struct link_spec here = { "here", NULL, 1300 };
	struct link_spec there = { "eth0", &mac, 1300 };
	struct link peer;

	(void)state;
	assert_ok(link_add_veth(a.nl, &here, &there, b.fd, err));
	peer = testnet_link(&b, "eth0");
	assert_string_equal(peer.kind, "veth");
	assert_true(mac_equal(&peer.mac, &mac));
	assert_int_equal(testnet_link(&a, "here").mtu, 1300);
	assert_ok(link_set_up(a.nl, "here", true, err));
	assert_ok(link_set_up(b.nl, "eth0", true, err));
	assert_true(testnet_link(&a, "here").running);

	assert_ok(link_delete(a.nl, "here", err));
	assert_fails(link_get(b.nl, "eth0", &peer, err), ERR_NOT_FOUND);
	assert_ok(link_delete(a.nl, "here", err));
}

static void
test_a_link_can_be_changed_in_every_way(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();
	struct mac mac = testnet_mac("02:00:00:00:00:09");
	struct link_spec bridge = { "br", NULL, 0 };
	struct link_spec a = { "a", NULL, 0 }, b = { "b0", NULL, 0 };
	struct link found;

	(void)state;
	assert_ok(link_add_bridge(net.nl, &bridge, err));
	assert_ok(link_add_veth(net.nl, &a, &b, -1, err));
	assert_ok(link_set_mac(net.nl, "a", &mac, err));
	assert_ok(link_set_mtu(net.nl, "a", 1234, err));
	assert_ok(link_set_master(net.nl, "a", "br", err));
	assert_ok(link_set_learning(net.nl, "a", false, err));
	assert_ok(link_set_hairpin(net.nl, "a", true, err));
	assert_ok(link_set_alias(net.nl, "a", "some note", err));
	assert_ok(link_set_up(net.nl, "a", true, err));
	assert_ok(link_set_tx_checksum(net.fd, "a", false, err));
	found = testnet_link(&net, "a");
	assert_true(mac_equal(&found.mac, &mac));
	assert_int_equal(found.mtu, 1234);
	assert_int_equal(found.master, testnet_link(&net, "br").index);
	assert_string_equal(found.alias, "some note");
	assert_true(found.up);

	assert_ok(link_set_up(net.nl, "a", false, err));
	assert_ok(link_set_master(net.nl, "a", NULL, err));
	assert_ok(link_set_alias(net.nl, "a", "", err));
	assert_ok(link_rename(net.nl, "a", "c", err));
	found = testnet_link(&net, "c");
	assert_int_equal(found.master, 0);
	assert_string_equal(found.alias, "");
	assert_false(found.up);
}

static void
test_a_link_moves_and_takes_a_new_name(void **state)
{
	AUTO(testnet_done) struct testnet a = testnet_new();
	AUTO(testnet_done) struct testnet b = testnet_new();
	struct link_spec one = { "one", NULL, 0 }, two = { "two", NULL, 0 };
	struct link found;

	(void)state;
	assert_ok(link_add_veth(a.nl, &one, &two, -1, err));
	assert_ok(link_move(a.nl, "two", b.fd, "eth0", err));
	assert_ok(link_move(a.nl, "one", b.fd, NULL, err));
	assert_fails(link_get(a.nl, "two", &found, err), ERR_NOT_FOUND);
	(void)testnet_link(&b, "eth0");
	(void)testnet_link(&b, "one");
}

static void
test_a_link_that_is_not_there_is_not_found(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();
	struct mac mac = testnet_mac("02:00:00:00:00:01");

	(void)state;
	assert_fails(link_set_up(net.nl, "nix", true, err), ERR_NOT_FOUND);
	assert_fails(link_set_mac(net.nl, "nix", &mac, err), ERR_NOT_FOUND);
	assert_fails(link_set_mtu(net.nl, "nix", 1400, err), ERR_NOT_FOUND);
	assert_fails(link_set_master(net.nl, "lo", "nix", err), ERR_NOT_FOUND);
	assert_fails(link_rename(net.nl, "nix", "x", err), ERR_NOT_FOUND);
	assert_fails(link_move(net.nl, "nix", net.fd, NULL, err),
		     ERR_NOT_FOUND);
}

static void
test_a_name_that_no_link_can_have_is_refused(void **state)
{
	static const char *const bad[] = { "",    ".",   "..",
					   "a/b", "a b", "sixteen-letters-" };
	AUTO(testnet_done) struct testnet net = testnet_new();

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct link_spec spec = { bad[i], NULL, 0 };

		assert_fails(link_add_bridge(net.nl, &spec, err), ERR_INVALID);
		assert_fails(link_set_up(net.nl, bad[i], true, err),
			     ERR_INVALID);
	}
}

static void
test_a_tap_stays_and_says_what_it_is(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();
	struct tap_spec spec = { "tap0", 107, LINK_NOBODY, false };
	struct tap_spec many = { "tap1", LINK_NOBODY, 107, true };
	struct link tap;
	int fd = -1;

	(void)state;
	assert_ok(tap_add(net.fd, &spec, err));
	assert_ok(tap_add(net.fd, &many, err));
	tap = testnet_link(&net, "tap0");
	assert_string_equal(tap.kind, "tun");
	assert_true(tap.tap && tap.vnet_hdr && !tap.multi_queue);
	assert_int_equal(tap.owner, 107);
	assert_int_equal(tap.group, LINK_NOBODY);
	assert_true(testnet_link(&net, "tap1").multi_queue);
	assert_int_equal(testnet_link(&net, "tap1").group, 107);
	assert_fails(tap_add(net.fd, &spec, err), ERR_EXISTS);

	assert_ok(link_set_up(net.nl, "tap0", true, err));
	assert_false(testnet_link(&net, "tap0").running);
	assert_ok(tap_open(net.fd, "tap0", &fd, err));
	assert_true(testnet_link(&net, "tap0").running);
	close_fd(&fd);
	assert_false(testnet_link(&net, "tap0").running);
}

static void
test_many_links_are_all_listed(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();
	AUTO(free_ptr) struct link *links = NULL;
	size_t count = 0;
	char name[IFNAMSIZ];

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct link_spec spec = { name, NULL, 0 };

		(void)snprintf(name, sizeof(name), "br%d", i);
		assert_ok(link_add_bridge(net.nl, &spec, err));
	}
	assert_ok(link_list(net.nl, &links, &count, err));
	assert_int_equal(count, 101);
	assert_non_null(link_find(links, count, "br99"));
	assert_null(link_find(links, count, "br100"));
	assert_string_equal(link_find_index(links, count, 1)->name, "lo");
	assert_null(link_find_index(links, count, 9999));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_bridge_is_made_as_told),
		cmocka_unit_test(test_a_veth_reaches_into_another_namespace),
		cmocka_unit_test(test_a_link_can_be_changed_in_every_way),
		cmocka_unit_test(test_a_link_moves_and_takes_a_new_name),
		cmocka_unit_test(test_a_link_that_is_not_there_is_not_found),
		cmocka_unit_test(test_a_name_that_no_link_can_have_is_refused),
		cmocka_unit_test(test_a_tap_stays_and_says_what_it_is),
		cmocka_unit_test(test_many_links_are_all_listed),
	};

	return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
