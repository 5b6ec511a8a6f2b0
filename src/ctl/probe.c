/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/probe.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "net/netns.h"

struct port_probe {
	const char *address;
	uint16_t port;
	enum reach result;
};

static int
connect_there(void *arg, struct err *err)
{
	struct port_probe *probe = arg;
	AUTO(close_fd) int fd = -1;
	struct pollfd pfd = { .events = POLLOUT };
	int begun = reach_begin(probe->address, probe->port, &fd,
				&probe->result, err);

	if (begun != 1)
		return begun;
	pfd.fd = fd;
	probe->result =
		poll(&pfd, 1, REACH_MS) == 0 ? REACH_SILENT : reach_end(fd);
	return 0;
}

int
probe_port(int netns_fd, const char *address, uint16_t port,
	   enum reach *ret_result, struct err *err)
{
	struct port_probe probe = { .address = address, .port = port };

	if (netns_run(netns_fd, connect_there, &probe, err) == -1)
		return -1;
	*ret_result = probe.result;
	return 0;
}

struct interface_probe {
	const char *name;
	char text[PROBE_TEXT_SIZE];
};

static void
release_addrs(struct ifaddrs **list)
{
	freeifaddrs(*list);
}

static bool
has_address(const struct ifaddrs *item)
{
	return item->ifa_addr != NULL &&
	       (item->ifa_addr->sa_family == AF_INET ||
		item->ifa_addr->sa_family == AF_INET6);
}

static int
look_at_interface(void *arg, struct err *err)
{
	struct interface_probe *probe = arg;
	AUTO(release_addrs) struct ifaddrs *list = NULL;
	bool found = false, up = false;

	probe->text[0] = '\0';
	if (getifaddrs(&list) == -1)
		return err_errno(err, "cannot list interfaces");
	for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
		bool four;

		if (!str_equal(i->ifa_name, probe->name))
			continue;
		found = true;
		up = up || (i->ifa_flags & IFF_UP) != 0;
		four = has_address(i) && i->ifa_addr->sa_family == AF_INET;
		if (!has_address(i) || (probe->text[0] != '\0' && !four))
			continue;
		(void)getnameinfo(i->ifa_addr,
				  four ? sizeof(struct sockaddr_in)
				       : sizeof(struct sockaddr_in6),
				  probe->text, PROBE_TEXT_SIZE, NULL, 0,
				  NI_NUMERICHOST);
		if (four)
			break;
	}
	if (!found)
		return err_set(err, ERR_NOT_FOUND, "there is no interface %s",
			       probe->name);
	if (!up || probe->text[0] == '\0')
		return err_set(err, ERR_UNAVAILABLE, "%s %s", probe->name,
			       up ? "has no address" : "is down");
	return 0;
}

int
probe_interface(int netns_fd, const char *name, char text[PROBE_TEXT_SIZE],
		struct err *err)
{
	struct interface_probe probe = { .name = name };

	if (netns_run(netns_fd, look_at_interface, &probe, err) == -1)
		return -1;
	memcpy(text, probe.text, sizeof(probe.text));
	return 0;
}
