/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/tcplisten.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proxy/bindaddr.h"

#define BACKLOG 128 /* a migration opens its connections all at once */

int
tcplisten_parse_range(const char *text, struct tcplisten_range *ret_range,
		      struct err *err)
{
	AUTO(free_ptr) char *lo_text = NULL;
	const char *dash = strchr(text, '-');
	uint64_t lo, hi;

	if (str_equal(text, "") || str_equal(text, "0")) {
		*ret_range = (struct tcplisten_range){ 0 };
		return 0;
	}
	lo_text = dash != NULL ? xstrndup(text, (size_t)(dash - text))
			       : xstrdup(text);
	if (str_to_u64(lo_text, "port", 1, UINT16_MAX, &lo, err) == -1)
		return err_prefix(err, "ports '%.40s'", text);
	hi = lo;
	if (dash != NULL &&
	    str_to_u64(dash + 1, "port", 1, UINT16_MAX, &hi, err) == -1)
		return err_prefix(err, "ports '%.40s'", text);
	if (hi < lo)
		return err_set(err, ERR_INVALID,
			       "ports '%s' end before they begin", text);
	*ret_range = (struct tcplisten_range){ (uint16_t)lo, (uint16_t)hi };
	return 0;
}

/* Sets what must be set before bind(2). */
static int
make_socket(const struct bindaddr *addr, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	int on = 1, v6only = !bindaddr_is_any(addr);

	fd = socket(addr->ss.ss_family,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return err_errno(err, "cannot create a TCP socket");
	/* A port whose last connections only wait for their end is free. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1)
		return err_errno(err, "cannot set SO_REUSEADDR");
	if (addr->ss.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only,
		       sizeof(v6only)) == -1)
		return err_errno(err, "cannot set IPV6_V6ONLY");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* ERR_EXISTS when the port is taken. */
static int
listen_on(struct bindaddr *addr, uint16_t port, int *ret_fd, struct err *err)
{
	char text[BINDADDR_TEXT_SIZE];
	AUTO(close_fd) int fd = -1;

	if (make_socket(addr, &fd, err) == -1)
		return -1;
	bindaddr_set_port(addr, port);
	/* With SO_REUSEADDR it may be listen(2) that finds the port taken. */
	if (bind(fd, (const struct sockaddr *)&addr->ss, addr->len) == -1 ||
	    listen(fd, BACKLOG) == -1)
		return err_errno(err, "cannot listen on %s",
				 bindaddr_format_port(addr, text));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static uint32_t
random_below(uint32_t limit)
{
	uint32_t value;

	/* Cannot fail for so few bytes once the kernel is up. */
	if (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value))
		return 0;
	return value % limit;
}

static int
listen_in_range(struct bindaddr *addr, const struct tcplisten_range *range,
		int *ret_fd, struct err *err)
{
	uint32_t count = (uint32_t)range->hi - range->lo + 1;
	uint32_t start = random_below(count);
	char text[BINDADDR_TEXT_SIZE];

	for (uint32_t i = 0; i < count; i++) {
		uint32_t port = range->lo + (start + i) % count;

		if (listen_on(addr, (uint16_t)port, ret_fd, err) == 0)
			return 0;
		if (err->kind != ERR_EXISTS)
			return -1;
	}
	return err_set(err, ERR_LIMIT, "all ports of %u-%u on %s are in use",
		       range->lo, range->hi, bindaddr_format(addr, text));
}

int
tcplisten_open(const struct bindaddr *addr, const struct tcplisten_range *range,
	       int *ret_fd, uint16_t *ret_port, struct err *err)
{
	struct bindaddr own = *addr;
	AUTO(close_fd) int fd = -1;
	socklen_t len = sizeof(own.ss);
	int rc;

	rc = range->lo == 0 ? listen_on(&own, 0, &fd, err)
			    : listen_in_range(&own, range, &fd, err);
	if (rc == -1)
		return -1;
	if (getsockname(fd, (struct sockaddr *)&own.ss, &len) == -1)
		return err_errno(err, "cannot find out the TCP port");
	*ret_port = bindaddr_port(&own);
	*ret_fd = TAKE_FD(fd);
	return 0;
}
