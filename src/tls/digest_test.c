/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/digest.h"

#include "base/test.h"

static void
test_known_digests(void **state)
{
	char hex[DIGEST_SHA256_HEX_SIZE];

	(void)state;
	/* FIPS 180-4's examples. */
	assert_string_equal(digest_sha256_hex("abc", 3, hex),
			    "ba7816bf8f01cfea414140de5dae2223"
			    "b00361a396177a9cb410ff61f20015ad");
	assert_string_equal(digest_sha256_hex("", 0, hex),
			    "e3b0c44298fc1c149afbf4c8996fb924"
			    "27ae41e4649b934ca495991b7852b855");
}

static void
test_secrets_are_compared_whole(void **state)
{
	(void)state;
	assert_true(digest_equal("abc", "abc", 3));
	assert_false(digest_equal("abc", "abd", 3));
	assert_false(digest_equal("abc", "bbc", 3));
	assert_true(digest_equal("abc", "abd", 2));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_digests),
		cmocka_unit_test(test_secrets_are_compared_whole),
	};

	return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
