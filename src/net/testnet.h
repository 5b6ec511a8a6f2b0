/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_TESTNET_H
#define NET_TESTNET_H

/*
 * testnet - a network namespace for a test, with its loopback up.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "net/inet.h"
#include "net/link.h"
#include "net/netlink.h"
#include "net/netns.h"

struct testnet {
	int fd;
	struct netlink *nl;
};

/* Fails the test with the reason. */
#define assert_ok(call)                            \
	do {                                       \
		struct err err_ = { .text = "" };  \
		struct err *err = &err_;           \
		if ((call) == -1)                  \
			fail_msg("%s", err_.text); \
	} while (0)

#define assert_fails(call, with)                     \
	do {                                         \
		struct err err_ = { .text = "" };    \
		struct err *err = &err_;             \
		assert_int_equal((call), -1);        \
		assert_int_equal(err_.kind, (with)); \
		assert_true(err_.text[0] != '\0');   \
	} while (0)

static inline struct testnet
testnet_new(void)
{
	struct testnet net = { .fd = -1 };

	assert_ok(netns_new(&net.fd, err));
	assert_ok(netlink_open(net.fd, &net.nl, err));
	assert_ok(link_set_up(net.nl, "lo", true, err));
	return net;
}

static inline void
testnet_done(struct testnet *net)
{
	netlink_free(net->nl);
	close_fd(&net->fd);
}

static inline struct link
testnet_link(const struct testnet *net, const char *name)
{
	struct link found = { .index = 0 };

	assert_ok(link_get(net->nl, name, &found, err));
	return found;
}

static inline struct ip_prefix
testnet_prefix(const char *text)
{
	struct ip_prefix prefix = { .len = 0 };

	assert_ok(ip_prefix_parse(text, &prefix, err));
	return prefix;
}

static inline struct ip
testnet_ip(const char *text)
{
	return testnet_prefix(text).ip;
}

static inline struct mac
testnet_mac(const char *text)
{
	struct mac mac = { { 0 } };

	assert_ok(mac_parse(text, &mac, err));
	return mac;
}

#endif
