/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/suite.h"

#include <string.h>

#include "base/test.h"

/* RFC 8448, section 3: the client's application traffic secret. */
static const uint8_t client_secret[] = {
	0x9e, 0x40, 0x64, 0x6c, 0xe7, 0x9a, 0x7f, 0x9d, 0xc0, 0x5a, 0xf8,
	0x88, 0x9b, 0xce, 0x65, 0x52, 0x87, 0x5a, 0xfa, 0x0b, 0x06, 0xdf,
	0x00, 0x87, 0xf7, 0x92, 0xeb, 0xb7, 0xc1, 0x75, 0x04, 0xa5,
};

static void
test_keys_follow_from_a_secret_as_in_rfc_8448(void **state)
{
	static const uint8_t key[] = {
		0x17, 0x42, 0x2d, 0xda, 0x59, 0x6e, 0xd5, 0xd9,
		0xac, 0xd8, 0x90, 0xe3, 0xc6, 0x3f, 0x50, 0x51,
	};
	static const uint8_t iv[] = {
		0x5b, 0x78, 0x92, 0x3d, 0xee, 0x08,
		0x57, 0x90, 0x33, 0xe5, 0x23, 0xd9,
	};
	uint8_t out[32];

	(void)state;
	assert_int_equal(tls_suite_expand(TLS_SUITE_AES_128_GCM_SHA256,
					  client_secret, "key", out, 16),
			 0);
	assert_memory_equal(out, key, 16);
	assert_int_equal(tls_suite_expand(TLS_SUITE_AES_128_GCM_SHA256,
					  client_secret, "iv", out, 12),
			 0);
	assert_memory_equal(out, iv, 12);
}

static void
test_suites_are_known_by_number(void **state)
{
	enum tls_suite suite = TLS_SUITE_COUNT;

	(void)state;
	assert_int_equal(tls_suite_from_id(0x1301, &suite), 0);
	assert_string_equal(tls_suite_name(suite), "TLS_AES_128_GCM_SHA256");
	assert_int_equal(tls_suite_key_len(suite), 16);
	assert_int_equal(tls_suite_secret_len(suite), 32);
	assert_int_equal(tls_suite_from_id(0x1302, &suite), 0);
	assert_string_equal(tls_suite_name(suite), "TLS_AES_256_GCM_SHA384");
	assert_int_equal(tls_suite_key_len(suite), 32);
	assert_int_equal(tls_suite_secret_len(suite), 48);
	assert_int_equal(tls_suite_from_id(0x1303, &suite), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_follow_from_a_secret_as_in_rfc_8448),
		cmocka_unit_test(test_suites_are_known_by_number),
	};

	return cmocka_run_group_tests_name("suite", tests, NULL, NULL);
}
