/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Both ends of the stream in RFC 8448, section 3, byte by byte.
 */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"
#include "tls/testforger.h"

/* RFC 8448, section 3, in the order in which they are sent. */
static const char rfc_ticket[] =
	"17030300de"
	"3a6b8f90414a97d6959c3487680de5134a2b240e6cffac116e95d41d6af8f6b5"
	"80dcf3d11d63c758db289a015940252f55713e061dc13e078891a38efbcf5753"
	"ad8ef170ad3c7353d16d9da773b9ca7f2b9fa1b6c0d4a3d03f75e09c30ba1e62"
	"972ac46f75f7b981be63439b2999ce13064615139891d5e4c5b406f16e3fc181"
	"a77ca475840025db2f0a77f81b5ab05b94c01346755f69232c86519d86cbeeac"
	"87aac347d143f9605d64f650db4d023e70e952ca49fe5137121c74bc2697687e"
	"248746d6df353005f3bce18696129c8153556b3b6c6779b37bf15985684f";
static const char rfc_client_data[] =
	"1703030043"
	"a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5"
	"b46b395bd54a9a20441e2b62974e1f5a6292a2977014bd1e3deae63aeebb2169"
	"4915e4";
static const char rfc_server_data[] =
	"1703030043"
	"2e937e11ef4ac740e538ad36005fc4a46932fc3225d05f82aa1b36e30efaf97d"
	"90e6dffc602dcb501a59a8fcc49c4bf2e5f0a21c0047c2abf332540dd032e167"
	"c2955d";
static const char rfc_client_alert[] =
	"1703030013c9872760655666b74d7ff1153efd6db6d0b0e3";
static const char rfc_server_alert[] =
	"1703030013b58fd67166ebf599d24720cfbe7efa7a8864a9";

#define RFC_PLAIN 50 /* bytes 0, 1, ... 49, both ways */

static size_t
from_hex(const char *hex, uint8_t *out)
{
	size_t n = 0;

	for (; hex[0] != '\0'; hex += 2) {
		char digits[3] = { hex[0], hex[1], '\0' };

		out[n++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return n;
}

static void
test_records_are_sealed_as_in_rfc_8448(void **state)
{
	struct tls_stream *s = tls_record_new(TLS_ROLE_CLIENT, TESTFORGER_SUITE,
					      &testforger_secrets);
	uint8_t *buf = xmalloc0(TLS_BUF_SIZE);
	uint8_t expected[128];
	struct iovec iov[TLS_BATCH_RECORDS];
	struct iovec wire;
	struct tls_failure f;

	(void)state;
	assert_int_equal(tls_stream_plain_iov(buf, RFC_PLAIN, iov), 1);
	for (unsigned i = 0; i < RFC_PLAIN; i++)
		((uint8_t *)iov[0].iov_base)[i] = (uint8_t)i;
	assert_int_equal(tls_stream_seal(s, buf, RFC_PLAIN, &wire, &f), 0);
	assert_int_equal(wire.iov_len, from_hex(rfc_client_data, expected));
	assert_memory_equal(wire.iov_base, expected, wire.iov_len);
	assert_int_equal(tls_stream_seal_close(s, buf, &wire, &f), 0);
	assert_int_equal(wire.iov_len, from_hex(rfc_client_alert, expected));
	assert_memory_equal(wire.iov_base, expected, wire.iov_len);
	tls_stream_free(s);
	free(buf);
}

static void
test_records_are_opened_as_in_rfc_8448(void **state)
{
	struct tls_stream *s = tls_record_new(TLS_ROLE_CLIENT, TESTFORGER_SUITE,
					      &testforger_secrets);
	uint8_t wire[512];
	size_t len;
	struct tls_opened o;
	struct tls_failure f;

	(void)state;
	len = from_hex(rfc_ticket, wire);
	len += from_hex(rfc_server_data, wire + len);
	len += from_hex(rfc_server_alert, wire + len);
	assert_int_equal(tls_stream_open(s, wire, len, 0, &o, &f), 0);
	assert_int_equal(o.iovcnt, 1);
	assert_int_equal(o.plain_len, RFC_PLAIN);
	for (unsigned i = 0; i < RFC_PLAIN; i++)
		assert_int_equal(((uint8_t *)o.iov[0].iov_base)[i], i);
	assert_true(o.closed);
	assert_int_equal(o.consumed, len);
	tls_stream_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_are_sealed_as_in_rfc_8448),
		cmocka_unit_test(test_records_are_opened_as_in_rfc_8448),
	};

	return cmocka_run_group_tests_name("rfc8448", tests, NULL, NULL);
}
