/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/ktls.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/test.h"
#include "tls/testpair.h"

/*
 * Most kernels here cannot do it, so what can be shown is that nothing is lost
 * by asking. ./run ktls has one that can.
 */
static void
test_a_refused_offload_leaves_the_stream_as_it_was(void **state)
{
	struct testpair pair = { 0 };
	uint8_t buf[TLS_HEADROOM + TLS_SLOT] = { 0 };
	struct iovec wire;
	struct tls_opened o;
	struct tls_failure f;
	struct err err;
	int fds[2];

	(void)state;
	testpair_connect(&pair, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD);
	/* A unix socket takes no TLS on any kernel. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(tls_stream_offload(pair.client.stream, fds[0], &err),
			 -1);
	assert_int_equal(err.kind, ERR_UNAVAILABLE);
	assert_int_equal(
		tls_stream_seal(pair.client.stream, buf, 100, &wire, &f), 0);
	assert_int_equal(tls_stream_open(pair.server.stream, wire.iov_base,
					 wire.iov_len, 0, &o, &f),
			 0);
	assert_int_equal(o.plain_len, 100);
	(void)close(fds[0]);
	(void)close(fds[1]);
	testpair_done(&pair);
}

static void
test_only_a_stream_that_is_at_rest_can_go(void **state)
{
	struct testpair pair = { 0 };
	uint8_t small[TLS_HEADROOM];
	struct iovec wire;
	struct tls_failure f;
	struct err err;

	(void)state;
	testpair_connect(&pair, TLS_ENGINE_LIBSSL, TLS_ENGINE_RECORD);
	assert_int_equal(tls_stream_offload(pair.client.stream, -1, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(
		tls_stream_seal_close(pair.server.stream, small, &wire, &f), 0);
	assert_int_equal(tls_stream_offload(pair.server.stream, -1, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	testpair_done(&pair);
}

static void
test_the_probe_keeps_its_answer(void **state)
{
	bool first = tls_ktls_available();

	(void)state;
	assert_int_equal(tls_ktls_available(), first);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_refused_offload_leaves_the_stream_as_it_was),
		cmocka_unit_test(test_only_a_stream_that_is_at_rest_can_go),
		cmocka_unit_test(test_the_probe_keeps_its_answer),
	};

	return cmocka_run_group_tests_name("ktls", tests, NULL, NULL);
}
