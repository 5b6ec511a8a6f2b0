/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/tcplisten.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/err.h"
#include "proxy/bindaddr.h"

static const struct tcplisten_range kernel = { 0, 0 };

static struct bindaddr
address(const char *spec)
{
	struct bindaddr addr;
	struct err err;

	if (bindaddr_resolve(spec, &addr, &err) == -1)
		fail_msg("%s", err.text);
	return addr;
}

static void
expect_connects(const char *to, uint16_t port)
{
	struct bindaddr addr;
	struct err err;
	int fd;

	assert_int_equal(bindaddr_parse(to, port, &addr, &err), 0);
	fd = socket(addr.ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		connect(fd, (const struct sockaddr *)&addr.ss, addr.len), 0);
	(void)close(fd);
}

static void
test_ranges_are_read(void **state)
{
	struct tcplisten_range range;
	struct err err;

	(void)state;
	assert_int_equal(tcplisten_parse_range("49000-49100", &range, &err), 0);
	assert_int_equal(range.lo, 49000);
	assert_int_equal(range.hi, 49100);
	assert_int_equal(tcplisten_parse_range("65535", &range, &err), 0);
	assert_int_equal(range.lo, 65535);
	assert_int_equal(range.hi, 65535);
	assert_int_equal(tcplisten_parse_range("", &range, &err), 0);
	assert_int_equal(range.lo, 0);
	assert_int_equal(tcplisten_parse_range("0", &range, &err), 0);
	assert_int_equal(range.hi, 0);
}

static void
test_wrong_ranges_are_refused(void **state)
{
	static const char *const bad[] = {
		"-", "1-", "-5", "0-5", "5-4", "1-65536", "a-b", "1-2-3", " 1",
	};
	struct tcplisten_range range;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (tcplisten_parse_range(bad[i], &range, &err) != -1)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.text, bad[i]));
	}
}

static void
test_the_kernel_chooses_a_port_that_answers(void **state)
{
	struct bindaddr addr = address("127.0.0.1");
	uint16_t port = 0;
	struct err err;
	int fd;

	(void)state;
	assert_int_equal(tcplisten_open(&addr, &kernel, &fd, &port, &err), 0);
	assert_true(port > 0);
	expect_connects("127.0.0.1", port);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	(void)close(fd);
}

static void
test_any_address_answers_both_families(void **state)
{
	struct bindaddr addr = address("*");
	uint16_t port;
	struct err err;
	int fd;

	(void)state;
	assert_int_equal(tcplisten_open(&addr, &kernel, &fd, &port, &err), 0);
	expect_connects("127.0.0.1", port);
	if (addr.ss.ss_family == AF_INET6)
		expect_connects("::1", port);
	(void)close(fd);
}

static bool
is_free(const struct bindaddr *addr, uint16_t port)
{
	struct tcplisten_range one = { port, port };
	struct err err;
	int fd;

	if (port == 0 || tcplisten_open(addr, &one, &fd, &port, &err) == -1)
		return false;
	(void)close(fd);
	return true;
}

/* Three neighbouring ports of which the middle one is taken by *ret_fd. */
static struct tcplisten_range
take_middle(const struct bindaddr *addr, int *ret_fd)
{
	uint16_t port, lo, hi;
	struct err err;

	for (;;) {
		assert_int_equal(
			tcplisten_open(addr, &kernel, ret_fd, &port, &err), 0);
		lo = (uint16_t)(port - 1);
		hi = (uint16_t)(port + 1);
		if (is_free(addr, lo) && is_free(addr, hi))
			return (struct tcplisten_range){ lo, hi };
		(void)close(*ret_fd);
	}
}

static void
test_a_range_is_used_until_all_of_it_is_taken(void **state)
{
	struct bindaddr addr = address("127.0.0.7");
	struct tcplisten_range range;
	int fds[3], again = -1;
	uint16_t port[3];
	struct err err;

	(void)state;
	range = take_middle(&addr, &fds[0]);
	for (int i = 1; i < 3; i++) {
		if (tcplisten_open(&addr, &range, &fds[i], &port[i], &err))
			fail_msg("%s", err.text);
		assert_in_range(port[i], range.lo, range.hi);
		expect_connects("127.0.0.7", port[i]);
	}
	assert_int_not_equal(port[1], port[2]);

	assert_int_equal(tcplisten_open(&addr, &range, &again, port, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_non_null(strstr(err.text, "are in use"));
	assert_int_equal(again, -1);
	for (int i = 0; i < 3; i++)
		(void)close(fds[i]);
}

static void
test_an_address_of_another_host_is_an_error_with_its_name(void **state)
{
	struct bindaddr addr = address("192.0.2.77");
	struct tcplisten_range range = { 49000, 65000 };
	uint16_t port;
	struct err err;
	int fd;

	(void)state;
	assert_int_equal(tcplisten_open(&addr, &kernel, &fd, &port, &err), -1);
	assert_non_null(strstr(err.text, "192.0.2.77"));
	/* And is not tried 16,001 times. */
	assert_int_equal(tcplisten_open(&addr, &range, &fd, &port, &err), -1);
	assert_int_not_equal(err.kind, ERR_LIMIT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges_are_read),
		cmocka_unit_test(test_wrong_ranges_are_refused),
		cmocka_unit_test(test_the_kernel_chooses_a_port_that_answers),
		cmocka_unit_test(test_any_address_answers_both_families),
		cmocka_unit_test(test_a_range_is_used_until_all_of_it_is_taken),
		cmocka_unit_test(
			test_an_address_of_another_host_is_an_error_with_its_name),
	};

	return cmocka_run_group_tests_name("proxy/tcplisten", tests, NULL,
					   NULL);
}
