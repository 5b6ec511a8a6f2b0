/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Addresses, networks, interfaces, port ranges and keys as an operator or a
 * client of the control socket writes them, on a host whose interfaces are
 * always the same.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "proxy/bindaddr.h"
#include "proxy/channel.h"
#include "proxy/tcplisten.h"

#define PORT 4711

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The interfaces, as getifaddrs(3) would list them. */
static char names[][IFNAMSIZ] = { "lo", "eth0", "eth0", "eth1", "down0" };
static const char *const texts[] = { "127.0.0.1", "10.1.2.3", "fd00::3",
				     "fe80::1", "192.0.2.1" };
static struct sockaddr_storage addresses[ARRAY_LEN(texts)];
static struct ifaddrs list[ARRAY_LEN(texts)];

static void
fill_list(void)
{
	if (list[0].ifa_name != NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct sockaddr_in *in = (void *)&addresses[i];
		struct sockaddr_in6 *in6 = (void *)&addresses[i];

		if (inet_pton(AF_INET, texts[i], &in->sin_addr) == 1) {
			in->sin_family = AF_INET;
		} else {
			(void)inet_pton(AF_INET6, texts[i], &in6->sin6_addr);
			in6->sin6_family = AF_INET6;
		}
		list[i].ifa_next =
			i + 1 < ARRAY_LEN(texts) ? &list[i + 1] : NULL;
		list[i].ifa_flags = strcmp(names[i], "down0") != 0 ? IFF_UP : 0;
		list[i].ifa_addr = (void *)&addresses[i];
		list[i].ifa_name = names[i];
	}
}

static void
check_text(const struct bindaddr *addr)
{
	char buf[BINDADDR_TEXT_SIZE];
	size_t len;

	assert(addr->ss.ss_family == AF_INET || addr->ss.ss_family == AF_INET6);
	assert(addr->len <= sizeof(addr->ss));
	len = strlen(bindaddr_format(addr, buf));
	assert(len > 0 && len < sizeof(buf));
	len = strlen(bindaddr_format_port(addr, buf));
	assert(len > 0 && len < sizeof(buf));
}

static void
check_dial(const char *text)
{
	struct bindaddr addr, again;
	char buf[BINDADDR_TEXT_SIZE];
	struct err err;

	if (bindaddr_parse(text, PORT, &addr, &err) == -1) {
		assert(err.kind != ERR_INTERNAL);
		return;
	}
	assert(bindaddr_port(&addr) == PORT);
	assert(!bindaddr_is_any(&addr));
	check_text(&addr);
	/* What is shown can be given back and means the same. */
	assert(bindaddr_parse(bindaddr_format(&addr, buf), PORT, &again,
			      &err) == 0);
	assert(again.len == addr.len);
	assert(memcmp(&again.ss, &addr.ss, addr.len) == 0);
}

static void
check_listen(const char *text)
{
	struct tcplisten_range range = { 1, 0 };
	struct bindaddr addr;
	struct err err;

	if (bindaddr_resolve_in(list, text, &addr, &err) == 0) {
		assert(bindaddr_port(&addr) == 0);
		check_text(&addr);
	} else {
		assert(err.kind != ERR_INTERNAL);
	}
	if (tcplisten_parse_range(text, &range, &err) == 0)
		assert(range.lo <= range.hi &&
		       (range.lo == 0) == (range.hi == 0));
	else
		assert(err.kind == ERR_INVALID && range.lo == 1);
}

static void
check_key(const char *text)
{
	char name[CHANNEL_NAME_SIZE];
	struct err err;

	if (channel_check_key(text, &err) == -1) {
		assert(err.kind == ERR_INVALID);
		return;
	}
	for (int i = 0; i < CHANNEL_COUNT; i++) {
		channel_socket_name(text, (enum channel)i, name);
		assert(strlen(name) < sizeof(name));
		assert(strchr(name, '/') == NULL && name[0] != '.');
	}
	(void)channel_check_paths("/run/ferry", text, &err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);

	fill_list();
	check_dial(text);
	check_listen(text);
	check_key(text);
	free(text);
	return 0;
}
