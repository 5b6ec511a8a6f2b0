/* SPDX-License-Identifier: Apache-2.0 */
#include "net/reach.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "net/inet.h"

static const char *const names[] = {
	[REACH_OPEN] = "open",
	[REACH_REFUSED] = "refused",
	[REACH_SILENT] = "silent",
	[REACH_UNREACHABLE] = "unreachable",
};
_Static_assert(ARRAY_LEN(names) == REACH_COUNT, "one each");

const char *
reach_name(enum reach reach)
{
	return names[reach];
}

static enum reach
reach_of(int error)
{
	switch (error) {
	case 0:
		return REACH_OPEN;
	case ECONNREFUSED:
		return REACH_REFUSED;
	case ETIMEDOUT:
		return REACH_SILENT;
	default:
		return REACH_UNREACHABLE;
	}
}

static int
begin_connect(int fd, const struct ip *ip, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };

	if (ip->family == AF_INET) {
		memcpy(&in.sin_addr, ip->bytes, sizeof(in.sin_addr));
		return connect(fd, (struct sockaddr *)&in, sizeof(in));
	}
	memcpy(&in6.sin6_addr, ip->bytes, sizeof(in6.sin6_addr));
	return connect(fd, (struct sockaddr *)&in6, sizeof(in6));
}

int
reach_begin(const char *address, uint16_t port, int *ret_fd,
	    enum reach *ret_reach, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	struct ip ip;
	int error = 0;

	if (ip_parse(address, &ip, err) == -1)
		return -1;
	fd = socket(ip.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return err_errno(err, "cannot make a socket");
	if (begin_connect(fd, &ip, port) == -1)
		error = errno;
	if (error == EINPROGRESS) {
		*ret_fd = TAKE_FD(fd);
		return 1;
	}
	*ret_reach = reach_of(error);
	return 0;
}

enum reach
reach_end(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	return reach_of(error);
}
