/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/fetch_text.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/test.h"

static void
test_failures_read_as_those_of_go(void **state)
{
	static const struct {
		struct fetch_failure failure;
		enum fetch_error error;
		const char *cause;
	} cases[] = {
		{ { .code = CURLE_OPERATION_TIMEDOUT, .deadline = true },
		  FETCH_TIMEOUT,
		  "context deadline exceeded" },
		{ { .code = CURLE_OPERATION_TIMEDOUT, .silent = true },
		  FETCH_TIMEOUT,
		  "net/http: timeout awaiting response headers" },
		{ { .code = CURLE_OPERATION_TIMEDOUT, .address = "10.0.0.1:9" },
		  FETCH_TIMEOUT,
		  "dial tcp 10.0.0.1:9: i/o timeout" },
		{ { .code = CURLE_COULDNT_CONNECT,
		    .address = "127.0.0.1:9444",
		    .os_errno = ECONNREFUSED },
		  FETCH_REFUSED,
		  "dial tcp 127.0.0.1:9444: connect: connection refused" },
		{ { .code = CURLE_COULDNT_CONNECT,
		    .address = "[::1]:1",
		    .os_errno = EHOSTUNREACH },
		  FETCH_REFUSED,
		  "dial tcp [::1]:1: connect: no route to host" },
		{ { .code = CURLE_COULDNT_RESOLVE_HOST, .host = "a.invalid" },
		  FETCH_RESOLVE,
		  "dial tcp: lookup a.invalid: no such host" },
		{ { .code = CURLE_PEER_FAILED_VERIFICATION,
		    .verify_result = 20 },
		  FETCH_TLS,
		  "x509: certificate signed by unknown authority" },
		{ { .code = CURLE_PEER_FAILED_VERIFICATION,
		    .verify_result = 10 },
		  FETCH_TLS,
		  "x509: certificate has expired or is not yet valid" },
		{ { .code = CURLE_PEER_FAILED_VERIFICATION, .host = "h" },
		  FETCH_TLS,
		  "x509: certificate is not valid for h" },
		{ { .code = CURLE_SSL_CONNECT_ERROR, .details = "handshake" },
		  FETCH_TLS,
		  "tls: handshake" },
		{ { .code = CURLE_GOT_NOTHING }, FETCH_OTHER, "EOF" },
		{ { .code = CURLE_RECV_ERROR,
		    .address = "10.0.0.1:9",
		    .os_errno = ECONNRESET },
		  FETCH_OTHER,
		  "read tcp 10.0.0.1:9: read: connection reset by peer" },
		{ { .code = CURLE_PARTIAL_FILE },
		  FETCH_OTHER,
		  "unexpected EOF" },
		{ { .code = CURLE_WRITE_ERROR, .too_large = true },
		  FETCH_TOO_LARGE,
		  "http: response body too large" },
		{ { .code = CURLE_WEIRD_SERVER_REPLY, .details = "junk" },
		  FETCH_OTHER,
		  "junk" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *cause = NULL;

		assert_int_equal(fetch_text_cause(&cases[i].failure, &cause),
				 cases[i].error);
		assert_string_equal(cause, cases[i].cause);
		free(cause);
	}
}

static void
test_the_method_is_written_as_a_name(void **state)
{
	char *text = fetch_text_whole("POST", "https://h/P", "EOF");

	(void)state;
	assert_string_equal(text, "Post \"https://h/P\": EOF");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failures_read_as_those_of_go),
		cmocka_unit_test(test_the_method_is_written_as_a_name),
	};

	return cmocka_run_group_tests_name("fetch_text", tests, NULL, NULL);
}
