/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/bindaddr.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/err.h"

/* A host as getifaddrs(3) would describe it. */
static const struct {
	const char *name;
	const char *address; /* NULL: an entry without one */
	unsigned flags;
	uint32_t scope;
} host[] = {
	{ "lo", "127.0.0.1", IFF_UP, 0 },
	{ "lo", "::1", IFF_UP, 0 },
	{ "eth0", NULL, IFF_UP, 0 },
	{ "eth0", "fe80::1", IFF_UP, 1 },
	{ "eth0", "fd00:1::5", IFF_UP, 0 },
	{ "eth0", "10.1.2.3", IFF_UP, 0 },
	{ "eth0", "10.1.2.4", IFF_UP, 0 },
	{ "mig6", "fe80::6", IFF_UP, 1 },
	{ "mig6", "fd00:6::1", IFF_UP, 0 },
	{ "local6", "fe80::7", IFF_UP, 1 },
	{ "auto4", "fe80::8", IFF_UP, 1 },
	{ "auto4", "169.254.3.4", IFF_UP, 0 },
	{ "down0", "10.9.0.1", 0, 0 },
	{ "bare0", NULL, IFF_UP, 0 },
	{ "tap9", "172.16.255.1", IFF_UP, 0 },
};

static struct ifaddrs list[ARRAY_LEN(host)];
static struct sockaddr_storage addresses[ARRAY_LEN(host)];

static int
make_host(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(host); i++) {
		struct sockaddr_in *v4 = (void *)&addresses[i];
		struct sockaddr_in6 *v6 = (void *)&addresses[i];

		list[i] = (struct ifaddrs){
			.ifa_name = (char *)(uintptr_t)host[i].name,
			.ifa_flags = host[i].flags,
			.ifa_next =
				i + 1 < ARRAY_LEN(host) ? &list[i + 1] : NULL,
		};
		if (host[i].address == NULL)
			continue;
		list[i].ifa_addr = (struct sockaddr *)&addresses[i];
		if (inet_pton(AF_INET, host[i].address, &v4->sin_addr) == 1) {
			v4->sin_family = AF_INET;
			continue;
		}
		if (inet_pton(AF_INET6, host[i].address, &v6->sin6_addr) != 1)
			return -1;
		v6->sin6_family = AF_INET6;
		v6->sin6_scope_id = host[i].scope;
	}
	return 0;
}

static void
expect(const char *spec, const char *want)
{
	char text[BINDADDR_TEXT_SIZE];
	struct bindaddr addr;
	struct err err;

	if (bindaddr_resolve_in(list, spec, &addr, &err) == -1)
		fail_msg("%s: %s", spec, err.text);
	assert_string_equal(bindaddr_format(&addr, text), want);
	assert_int_equal(bindaddr_port(&addr), 0);
}

static void
expect_failure(const char *spec, enum err_kind kind, const char *part)
{
	struct bindaddr addr = { .len = 77 };
	struct err err;

	assert_int_equal(bindaddr_resolve_in(list, spec, &addr, &err), -1);
	assert_int_equal(err.kind, kind);
	if (strstr(err.text, part) == NULL)
		fail_msg("'%s' does not say '%s'", err.text, part);
}

static void
test_an_address_is_taken_as_it_is(void **state)
{
	(void)state;
	expect("192.0.2.1", "192.0.2.1");
	expect("2001:db8::1", "2001:db8::1");
	expect("[2001:db8::1]", "2001:db8::1");
	expect("fe80::1%lo", "fe80::1%lo");
	expect("fe80::1%1", "fe80::1%lo");
}

static void
test_an_interface_gives_ipv4_before_ipv6_before_link_local(void **state)
{
	(void)state;
	expect("eth0", "10.1.2.3");
	expect("mig6", "fd00:6::1");
	expect("local6", "fe80::7%lo");
	expect("auto4", "169.254.3.4");
	expect("lo", "127.0.0.1");
}

static void
test_a_network_gives_the_address_inside_it(void **state)
{
	(void)state;
	expect("10.1.0.0/16", "10.1.2.3");
	expect("10.1.2.4/32", "10.1.2.4");
	expect("10.1.2.4/31", "10.1.2.4");
	expect("172.16.255.0/25", "172.16.255.1");
	expect("fd00:6::/32", "fd00:6::1");
	expect("fd00:1::/33", "fd00:1::5");
	expect("0.0.0.0/0", "127.0.0.1");
	expect("fe80::/10", "fe80::1%lo");
	/* Bits behind the prefix do not matter. */
	expect("10.1.2.99/24", "10.1.2.3");
}

static void
test_each_failure_says_what_is_wrong(void **state)
{
	(void)state;
	expect_failure("eth7", ERR_NOT_FOUND, "no interface 'eth7'");
	expect_failure("bare0", ERR_UNAVAILABLE, "has no address");
	expect_failure("down0", ERR_UNAVAILABLE, "is down");
	expect_failure("10.2.0.0/16", ERR_UNAVAILABLE, "lies in");
	expect_failure("172.16.255.128/25", ERR_UNAVAILABLE, "lies in");
	expect_failure("10.9.0.0/16", ERR_UNAVAILABLE, "lies in");
	expect_failure("10.1.0.0/33", ERR_INVALID, "not a network");
	expect_failure("fd00::/129", ERR_INVALID, "not a network");
	expect_failure("10.1.0.0/", ERR_INVALID, "not a network");
	expect_failure("eth0/24", ERR_INVALID, "not a network");
	expect_failure("/24", ERR_INVALID, "not a network");
	expect_failure("10.1.2.3:80", ERR_INVALID, "not an address");
	expect_failure("a name with blanks", ERR_INVALID, "not an address");
	expect_failure("fe80::1%nonexistent9", ERR_INVALID, "not an address");
	expect_failure("0123456789abcdef", ERR_INVALID, "not an address");
}

static void
test_no_spec_is_any_address(void **state)
{
	struct bindaddr addr;
	struct err err;

	(void)state;
	assert_int_equal(bindaddr_resolve("", &addr, &err), 0);
	assert_true(bindaddr_is_any(&addr));
	assert_int_equal(bindaddr_resolve("*", &addr, &err), 0);
	assert_true(bindaddr_is_any(&addr));
	assert_int_equal(bindaddr_resolve("127.0.0.1", &addr, &err), 0);
	assert_false(bindaddr_is_any(&addr));
}

static void
test_the_loopback_interface_of_this_host_resolves(void **state)
{
	char text[BINDADDR_TEXT_SIZE];
	struct bindaddr addr;
	struct err err;

	(void)state;
	assert_int_equal(bindaddr_resolve("lo", &addr, &err), 0);
	assert_string_equal(bindaddr_format(&addr, text), "127.0.0.1");
	assert_int_equal(bindaddr_resolve("127.0.0.0/8", &addr, &err), 0);
	assert_string_equal(bindaddr_format(&addr, text), "127.0.0.1");
	assert_int_equal(bindaddr_resolve("nosuchif0", &addr, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
}

static void
test_addresses_to_dial_have_a_port(void **state)
{
	char text[BINDADDR_TEXT_SIZE];
	struct bindaddr addr;
	struct err err;

	(void)state;
	assert_int_equal(bindaddr_parse("10.0.0.1", 41023, &addr, &err), 0);
	assert_int_equal(bindaddr_port(&addr), 41023);
	assert_string_equal(bindaddr_format_port(&addr, text),
			    "10.0.0.1:41023");
	assert_int_equal(bindaddr_parse("[fd00::1]", 80, &addr, &err), 0);
	assert_string_equal(bindaddr_format_port(&addr, text), "[fd00::1]:80");
	assert_int_equal(bindaddr_parse("fe80::1%lo", 80, &addr, &err), 0);
	assert_string_equal(bindaddr_format_port(&addr, text),
			    "[fe80::1%lo]:80");
}

static void
test_what_nobody_can_dial_is_refused(void **state)
{
	static const char *const bad[] = {
		"",         "localhost", "10.0.0",    "10.0.0.1 ", "10.0.0.256",
		"0.0.0.0",  "::",        "224.0.0.1", "ff02::1",   "[10.0.0.1",
		"[fd00::1", "fd00::1]",  "[]",        "[",         "1.2.3.4%lo",
	};
	struct bindaddr addr;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (bindaddr_parse(bad[i], 1, &addr, &err) != -1)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(err.kind, ERR_INVALID);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_address_is_taken_as_it_is),
		cmocka_unit_test(
			test_an_interface_gives_ipv4_before_ipv6_before_link_local),
		cmocka_unit_test(test_a_network_gives_the_address_inside_it),
		cmocka_unit_test(test_each_failure_says_what_is_wrong),
		cmocka_unit_test(test_no_spec_is_any_address),
		cmocka_unit_test(
			test_the_loopback_interface_of_this_host_resolves),
		cmocka_unit_test(test_addresses_to_dial_have_a_port),
		cmocka_unit_test(test_what_nobody_can_dial_is_refused),
	};

	return cmocka_run_group_tests_name("proxy/bindaddr", tests, make_host,
					   NULL);
}
