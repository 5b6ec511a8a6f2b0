/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/err.h"
#include "base/test.h"
#include "net/inet.h"

static void
test_a_mac_reads_back_as_it_was_written(void **state)
{
	char buf[MAC_TEXT_SIZE];
	struct mac mac;
	struct err err;

	(void)state;
	assert_int_equal(mac_parse("02:00:5e:AB:cd:ef", &mac, &err), 0);
	assert_string_equal(mac_text(&mac, buf), "02:00:5e:ab:cd:ef");
	assert_int_equal(mac_parse("02-00-5e-ab-cd-ef", &mac, &err), 0);
	assert_string_equal(mac_text(&mac, buf), "02:00:5e:ab:cd:ef");
}

static void
test_what_is_no_station_s_mac_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"0",
		"02",
		"02:",
		"02:00:5e:ab:cd",
		"02:00:5e:ab:cd:ef:",
		"02:00:5e:ab:cd:ef:01",
		"02:00-5e:ab:cd:ef",
		"0x:00:5e:ab:cd:ef",
		"020:0:5e:ab:cd:ef",
		"00:00:00:00:00:00",
		"ff:ff:ff:ff:ff:ff",
		"01:00:5e:00:00:01",
		" 02:00:5e:ab:cd:ef",
	};
	struct mac mac;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(mac_parse(bad[i], &mac, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.text, bad[i]));
	}
}

static void
test_a_derived_mac_is_local_and_of_one_station(void **state)
{
	char buf[MAC_TEXT_SIZE];
	struct mac mac = mac_local((const uint8_t *)"\xff\xff\xff\xff\xff\xff");

	(void)state;
	assert_string_equal(mac_text(&mac, buf), "fe:ff:ff:ff:ff:ff");
	mac = mac_local((const uint8_t *)"\0\0\0\0\0\0");
	assert_string_equal(mac_text(&mac, buf), "02:00:00:00:00:00");
}

static void
test_a_prefix_reads_back_as_it_was_written(void **state)
{
	static const char *const good[] = {
		"10.0.2.0/24",    "0.0.0.0/0", "192.168.1.7/32",
		"fd10:0:2::/120", "::/0",      "fe80::1/64",
	};
	char buf[IP_PREFIX_TEXT_SIZE];
	struct ip_prefix prefix;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(ip_prefix_parse(good[i], &prefix, &err), 0);
		assert_string_equal(ip_prefix_text(&prefix, buf), good[i]);
	}
	assert_int_equal(ip_prefix_parse("10.0.0.1", &prefix, &err), 0);
	assert_int_equal(prefix.len, 32);
}

static void
test_what_is_no_prefix_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"/",
		"10.0.0.0/",
		"10.0.0.0/33",
		"::/129",
		"10.0.0/8",
		"10.0.0.0/8/8",
		"10.0.0.0/+8",
		"x/8",
		"1:2/64",
		"1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111/64",
	};
	struct ip_prefix prefix;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(ip_prefix_parse(bad[i], &prefix, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
	}
}

static void
test_a_prefix_contains_what_begins_alike(void **state)
{
	static const struct {
		const char *prefix, *ip;
		bool inside;
	} cases[] = {
		{ "10.0.2.0/24", "10.0.2.255", true },
		{ "10.0.2.0/24", "10.0.3.0", false },
		{ "10.0.2.0/23", "10.0.3.7", true },
		{ "10.0.2.128/25", "10.0.2.127", false },
		{ "0.0.0.0/0", "255.1.2.3", true },
		{ "0.0.0.0/0", "::1", false },
		{ "fd10:0:2::/120", "fd10:0:2::ff", true },
		{ "fd10:0:2::/120", "fd10:0:2::100", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ip_prefix prefix;
		struct ip ip;
		struct err err;

		assert_int_equal(
			ip_prefix_parse(cases[i].prefix, &prefix, &err), 0);
		assert_int_equal(ip_parse(cases[i].ip, &ip, &err), 0);
		assert_int_equal(ip_prefix_contains(&prefix, &ip),
				 cases[i].inside);
	}
}

static void
test_the_nth_address_counts_from_the_first(void **state)
{
	static const struct {
		const char *prefix;
		uint32_t n;
		const char *ip; /* NULL: no room */
	} cases[] = {
		{ "10.0.2.77/24", 1, "10.0.2.1" },
		{ "10.0.2.0/24", 255, "10.0.2.255" },
		{ "10.0.2.0/24", 256, NULL },
		{ "10.0.0.0/8", 65536 + 2, "10.1.0.2" },
		{ "255.255.255.255/32", 1, NULL },
		{ "10.0.0.4/31", 2, NULL },
		{ "fd10:0:2::/120", 2, "fd10:0:2::2" },
		{ "fd10:0:2::/120", 256, NULL },
		{ "fd10::/64", 0x10000, "fd10::1:0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ip_prefix prefix;
		char buf[IP_TEXT_SIZE];
		struct ip ip;
		struct err err;
		int got;

		assert_int_equal(
			ip_prefix_parse(cases[i].prefix, &prefix, &err), 0);
		got = ip_prefix_nth(&prefix, cases[i].n, &ip, &err);
		assert_int_equal(got, cases[i].ip == NULL ? -1 : 0);
		if (cases[i].ip != NULL)
			assert_string_equal(ip_text(&ip, buf), cases[i].ip);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mac_reads_back_as_it_was_written),
		cmocka_unit_test(test_what_is_no_station_s_mac_is_refused),
		cmocka_unit_test(
			test_a_derived_mac_is_local_and_of_one_station),
		cmocka_unit_test(test_a_prefix_reads_back_as_it_was_written),
		cmocka_unit_test(test_what_is_no_prefix_is_refused),
		cmocka_unit_test(test_a_prefix_contains_what_begins_alike),
		cmocka_unit_test(test_the_nth_address_counts_from_the_first),
	};

	return cmocka_run_group_tests_name("inet", tests, NULL, NULL);
}
