/* SPDX-License-Identifier: Apache-2.0 */
/* Rules and settings of a namespace. */
#include "net/nft.h"

#include <string.h>

#include "net/sysctl.h"
#include "net/testnet.h"

#define REPLACE              \
	"table inet ferry\n" \
	"delete table inet ferry\n"

static void
test_a_table_is_replaced_as_a_whole(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	assert_ok(nft_run(net.fd,
			  REPLACE "table inet ferry { chain one { ip saddr "
				  "10.0.0.1 accept; }; }",
			  err));
	assert_ok(nft_run(net.fd,
			  REPLACE "table inet ferry { chain two { ip saddr "
				  "10.0.0.2 accept; }; }",
			  err));
	assert_ok(nft_query(net.fd, "list ruleset", &text, err));
	assert_null(strstr(text, "10.0.0.1"));
	assert_non_null(strstr(text, "ip saddr 10.0.0.2 accept"));
}

static void
test_a_text_with_an_error_changes_nothing(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	assert_fails(
		nft_run(net.fd, "table ip a\ntable ip b { nonsense }", err),
		ERR_INTERNAL);
	assert_ok(nft_query(net.fd, "list ruleset", &text, err));
	assert_string_equal(text, "");
	assert_fails(nft_run(net.fd, "delete table ip a", err), ERR_NOT_FOUND);
}

static void
test_rules_are_those_of_one_namespace(void **state)
{
	AUTO(testnet_done) struct testnet a = testnet_new();
	AUTO(testnet_done) struct testnet b = testnet_new();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	assert_ok(nft_run(a.fd, "table ip only-here", err));
	assert_ok(nft_query(b.fd, "list ruleset", &text, err));
	assert_string_equal(text, "");
}

static void
test_settings_are_those_of_one_namespace(void **state)
{
	AUTO(testnet_done) struct testnet a = testnet_new();
	AUTO(testnet_done) struct testnet b = testnet_new();
	char buf[16];

	(void)state;
	assert_ok(sysctl_set(a.fd, "ipv4/ip_forward", "1", err));
	assert_ok(sysctl_set(b.fd, "ipv4/ip_forward", "0", err));
	assert_ok(sysctl_get(a.fd, "ipv4/ip_forward", buf, sizeof(buf), err));
	assert_string_equal(buf, "1");
	assert_ok(sysctl_get(b.fd, "ipv4/ip_forward", buf, sizeof(buf), err));
	assert_string_equal(buf, "0");
	assert_ok(sysctl_set(a.fd, "ipv6/conf/lo/disable_ipv6", "1", err));
	assert_fails(sysctl_set(a.fd, "ipv4/nix", "1", err), ERR_NOT_FOUND);
	assert_fails(sysctl_set(a.fd, "../kernel/hostname", "x", err),
		     ERR_DENIED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_table_is_replaced_as_a_whole),
		cmocka_unit_test(test_a_text_with_an_error_changes_nothing),
		cmocka_unit_test(test_rules_are_those_of_one_namespace),
		cmocka_unit_test(test_settings_are_those_of_one_namespace),
	};

	return cmocka_run_group_tests_name("nft", tests, NULL, NULL);
}
