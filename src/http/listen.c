/* SPDX-License-Identifier: Apache-2.0 */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "http/listen.h"

struct place {
	char host[256];
	char port[8];
};

static int
read_place(const char *text, struct place *ret, struct err *err)
{
	const char *colon = strrchr(text, ':');
	size_t len;
	uint64_t port;

	if (colon == NULL)
		return err_set(err, ERR_INVALID,
			       "--listen: '%s' is not ADDR:PORT", text);
	if (str_to_u64(colon + 1, "--listen: the port", 0, UINT16_MAX, &port,
		       err) == -1)
		return -1;
	len = (size_t)(colon - text);
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= sizeof(ret->host))
		return err_set(err, ERR_INVALID,
			       "--listen: the address is too long");
	memcpy(ret->host, text, len);
	ret->host[len] = '\0';
	(void)snprintf(ret->port, sizeof(ret->port), "%u", (unsigned)port);
	return 0;
}

static int
bind_and_listen(const struct addrinfo *info, const struct place *place,
		int *ret_fd, struct err *err)
{
	AUTO(close_fd)
	int fd = socket(info->ai_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd == -1)
		return err_errno(err, "cannot make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, info->ai_addr, info->ai_addrlen) == -1 ||
	    listen(fd, LISTEN_BACKLOG) == -1)
		return err_errno(err, "cannot listen on %s port %s",
				 place->host, place->port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static uint16_t
port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} addr = { .v4 = { .sin_family = AF_INET } };
	socklen_t len = sizeof(addr);

	if (getsockname(fd, &addr.any, &len) == -1)
		return 0;
	return ntohs(addr.any.sa_family == AF_INET6 ? addr.v6.sin6_port
						    : addr.v4.sin_port);
}

int
listen_open(const char *text, const char *address, uint16_t port, int *ret_fd,
	    uint16_t *ret_port, struct err *err)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *info;
	struct place place;
	int r;

	(void)snprintf(place.host, sizeof(place.host), "%s", address);
	(void)snprintf(place.port, sizeof(place.port), "%u", (unsigned)port);
	if (text != NULL && read_place(text, &place, err) == -1)
		return -1;
	r = getaddrinfo(*place.host == '\0' ? NULL : place.host, place.port,
			&hints, &info);
	if (r != 0)
		return err_set(err, ERR_INVALID, "cannot listen on '%s': %s",
			       place.host, gai_strerror(r));
	r = bind_and_listen(info, &place, ret_fd, err);
	freeaddrinfo(info);
	if (r == 0)
		*ret_port = port_of(*ret_fd);
	return r;
}
