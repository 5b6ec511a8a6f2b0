/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/reason.h"

#include <string.h>

#include "base/test.h"

static void
test_every_reason_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TLS_REASON_COUNT; i++) {
		const char *name = tls_reason_name((enum tls_reason)i);

		assert_true(name[0] >= 'A' && name[0] <= 'Z');
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(
				name, tls_reason_name((enum tls_reason)j));
	}
	assert_string_equal(tls_reason_name(TLS_REASON_CERT_EXPIRED),
			    "CertificateExpired");
	assert_string_equal(tls_reason_name(TLS_REASON_WRONG_NODE),
			    "WrongNode");
	assert_string_equal(tls_reason_name(TLS_REASON_NOT_TLS), "NotTLS");
}

static void
test_an_alert_gets_the_code_of_what_it_complains_about(void **state)
{
	struct tls_failure f;

	(void)state;
	assert_int_equal(tls_failure_alert(&f, 45), -1);
	assert_int_equal(f.reason, TLS_REASON_CERT_EXPIRED);
	assert_true(f.by_peer);
	assert_string_equal(f.text,
			    "peer refused our certificate: expired (alert 45)");
	assert_int_equal(tls_failure_alert(&f, 80), -1);
	assert_int_equal(f.reason, TLS_REASON_PEER_ALERT);
	assert_string_equal(f.text, "peer gave up (alert 80)");
	assert_int_equal(tls_failure_alert(NULL, 80), -1);
}

static void
test_a_failure_of_ours_is_not_by_the_peer(void **state)
{
	struct tls_failure f = { .by_peer = true };

	(void)state;
	assert_int_equal(tls_failure_set(&f, TLS_REASON_NOT_TLS, "%d", 7), -1);
	assert_int_equal(f.reason, TLS_REASON_NOT_TLS);
	assert_false(f.by_peer);
	assert_string_equal(f.text, "7");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_reason_has_a_name_of_its_own),
		cmocka_unit_test(
			test_an_alert_gets_the_code_of_what_it_complains_about),
		cmocka_unit_test(test_a_failure_of_ours_is_not_by_the_peer),
	};

	return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}
