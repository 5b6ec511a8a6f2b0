/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/probe.h"

#include <arpa/inet.h>
#include <errno.h>
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
#include "net/inet.h"
#include "net/netns.h"

struct port_probe {
	struct ip ip;
	uint16_t port;
	enum probe_result result;
};

static enum probe_result
result_of(int error)
{
	switch (error) {
	case 0:
		return PROBE_OPEN;
	case ECONNREFUSED:
		return PROBE_REFUSED;
	case ETIMEDOUT:
		return PROBE_SILENT;
	default:
		return PROBE_UNREACHABLE;
	}
}

static int
start_connect(int fd, const struct port_probe *probe)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(probe->port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(probe->port) };

	if (probe->ip.family == AF_INET) {
		memcpy(&in.sin_addr, probe->ip.bytes, sizeof(in.sin_addr));
		return connect(fd, (struct sockaddr *)&in, sizeof(in));
	}
	memcpy(&in6.sin6_addr, probe->ip.bytes, sizeof(in6.sin6_addr));
	return connect(fd, (struct sockaddr *)&in6, sizeof(in6));
}

static int
connect_there(void *arg, struct err *err)
{
	struct port_probe *probe = arg;
	AUTO(close_fd)
	int fd = socket(probe->ip.family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t len = sizeof(error);

	if (fd == -1)
		return err_errno(err, "cannot make a socket");
	if (start_connect(fd, probe) == -1)
		error = errno;
	if (error == EINPROGRESS) {
		if (poll(&pfd, 1, PROBE_MS) == 0)
			error = ETIMEDOUT;
		else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) ==
			 -1)
			return err_errno(err, "cannot ask the socket");
	}
	probe->result = result_of(error);
	return 0;
}

int
probe_port(int netns_fd, const char *address, uint16_t port,
	   enum probe_result *ret_result, struct err *err)
{
	struct port_probe probe = { .port = port };

	if (ip_parse(address, &probe.ip, err) == -1 ||
	    netns_run(netns_fd, connect_there, &probe, err) == -1)
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
