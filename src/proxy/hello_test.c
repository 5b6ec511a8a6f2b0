/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/hello.h"

#include <string.h>

#include "base/err.h"
#include "base/test.h"

static const struct hello_request request = {
	.key = "9a2b0c4e-vm1",
	.channel = CHANNEL_BLOCK,
	.plain = true,
	.run = 0x0102030405060708,
	.number = 9,
};

static void
test_a_request_survives_the_way(void **state)
{
	struct hello_request got = { 0 };
	uint8_t data[HELLO_MAX];
	struct err err;
	size_t len;

	(void)state;
	len = hello_request_encode(&request, data);
	assert_int_equal(hello_request_decode(data, len, &got, &err), 0);
	assert_string_equal(got.key, request.key);
	assert_int_equal(got.channel, request.channel);
	assert_true(got.plain);
	assert_int_equal(got.run, request.run);
	assert_int_equal(got.number, request.number);
}

static void
test_the_wire_format_does_not_change(void **state)
{
	static const uint8_t expected[] = "FQ\x01\x01\xc0\x01"
					  "\x01\x02\x03\x04\x05\x06\x07\x08"
					  "\x00\x00\x00\x00\x00\x00\x00\x09"
					  "\x0c"
					  "9a2b0c4e-vm1";
	static const uint8_t ok[] = { 'F', 'A', 1, 1, 0, 0 };
	const struct failure none = { .reason = REASON_NONE };
	uint8_t data[HELLO_MAX];

	(void)state;
	assert_int_equal(hello_request_encode(&request, data),
			 sizeof(expected) - 1);
	assert_memory_equal(data, expected, sizeof(expected) - 1);
	assert_int_equal(hello_answer_encode(&none, data), sizeof(ok));
	assert_memory_equal(data, ok, sizeof(ok));
}

static void
test_every_shortened_or_lengthened_request_is_refused(void **state)
{
	struct hello_request got;
	uint8_t data[HELLO_MAX] = { 0 };
	struct err err;
	size_t len;

	(void)state;
	len = hello_request_encode(&request, data);
	for (size_t n = 0; n < len + 5; n++) {
		if (n != len)
			assert_int_equal(
				hello_request_decode(data, n, &got, &err), -1);
	}
}

static void
test_requests_that_are_wrong_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} changes[] = {
		{ 0, 'G' }, { 1, 'A' }, { 2, 2 },    { 3, 2 },
		{ 4, 0 },   { 22, 65 }, { 23, '/' }, { 24, 0 },
	};
	struct hello_request got;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t data[HELLO_MAX];
		size_t len = hello_request_encode(&request, data);

		data[changes[i].at] = changes[i].value;
		assert_int_equal(hello_request_decode(data, len, &got, &err),
				 -1);
		assert_int_equal(err.kind, ERR_INVALID);
	}
}

static void
test_a_refusal_keeps_code_and_text(void **state)
{
	struct failure sent, got;
	uint8_t data[HELLO_MAX];
	struct err err;
	size_t len;

	(void)state;
	failure_set(&sent, REASON_LOCAL_MISSING, "nobody is at home");
	len = hello_answer_encode(&sent, data);
	assert_int_equal(hello_answer_decode(data, len, &got, &err), 0);
	assert_int_equal(got.reason, REASON_LOCAL_MISSING);
	assert_string_equal(got.text, "nobody is at home");
	for (size_t n = 0; n < len; n++)
		assert_int_equal(hello_answer_decode(data, n, &got, &err), -1);
}

static void
test_a_code_from_the_future_and_bad_text_are_survived(void **state)
{
	const uint8_t data[] = { 'F', 'A', 1,   0,  3,   'N',  'e',
				 'w', 5,   'a', 27, '[', 0xff, 'b' };
	const uint8_t known[] = { 'F', 'A', 1,   0,   7, 'S', 't',  'o',
				  'p', 'p', 'e', 'd', 3, 27,  0xff, 'b' };
	struct failure got;
	struct err err;

	(void)state;
	assert_int_equal(hello_answer_decode(data, sizeof(data), &got, &err),
			 0);
	assert_int_equal(got.reason, REASON_PEER_REFUSED);
	assert_non_null(strstr(got.text, "New"));
	assert_int_equal(hello_answer_decode(known, sizeof(known), &got, &err),
			 0);
	assert_int_equal(got.reason, REASON_STOPPED);
	assert_string_equal(got.text, "??b");
}

static void
test_every_reason_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < REASON_COUNT; i++)
		assert_int_equal(reason_from_name(reason_name((enum reason)i)),
				 i);
	assert_int_equal(reason_from_name("Nonsense"), REASON_COUNT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_survives_the_way),
		cmocka_unit_test(test_the_wire_format_does_not_change),
		cmocka_unit_test(
			test_every_shortened_or_lengthened_request_is_refused),
		cmocka_unit_test(test_requests_that_are_wrong_are_refused),
		cmocka_unit_test(test_a_refusal_keeps_code_and_text),
		cmocka_unit_test(
			test_a_code_from_the_future_and_bad_text_are_survived),
		cmocka_unit_test(test_every_reason_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests_name("hello", tests, NULL, NULL);
}
