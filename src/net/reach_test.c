/* SPDX-License-Identifier: Apache-2.0 */
#include "net/reach.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "net/testnet.h"

#define PATIENCE_MS 60000

struct there {
	const char *address;
	uint16_t port;
	bool listens;
	enum reach reach;
};

/* In the test's namespace: the port is free, since nobody else is there. */
static int
look(void *arg, struct err *err)
{
	struct there *there = arg;
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(there->port) };
	AUTO(close_fd) int listener = socket(AF_INET, SOCK_STREAM, 0);
	AUTO(close_fd) int fd = -1;
	struct pollfd pfd = { .events = POLLOUT };
	int begun;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (there->listens &&
	    (bind(listener, (struct sockaddr *)&in, sizeof(in)) == -1 ||
	     listen(listener, 1) == -1))
		return err_errno(err, "cannot listen");
	begun = reach_begin(there->address, there->port, &fd, &there->reach,
			    err);
	if (begun != 1)
		return begun;
	pfd.fd = fd;
	assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
	there->reach = reach_end(fd);
	return 0;
}

static void
test_what_becomes_of_a_connection_is_told_apart(void **state)
{
	struct testnet net = testnet_new();
	struct there cases[] = {
		{ "127.0.0.1", 4711, true, REACH_COUNT },
		{ "127.0.0.1", 4712, false, REACH_COUNT },
		{ "192.0.2.1", 4711, false, REACH_COUNT },
	};
	static const char *const names[] = { "open", "refused", "unreachable" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_ok(netns_run(net.fd, look, &cases[i], err));
		assert_string_equal(reach_name(cases[i].reach), names[i]);
	}
	testnet_done(&net);
}

static void
test_what_is_no_address_is_not_tried(void **state)
{
	enum reach reach;
	int fd = -1;

	(void)state;
	assert_fails(reach_begin("node1", 1, &fd, &reach, err), ERR_INVALID);
	assert_int_equal(fd, -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_what_becomes_of_a_connection_is_told_apart),
		cmocka_unit_test(test_what_is_no_address_is_not_tried),
	};

	return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
