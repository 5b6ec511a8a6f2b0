/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define LISTEN_BACKLOG 4096

void
die(const char *format, ...)
{
	va_list args;

	(void)fputs("loadgen: ", stderr);
	va_start(args, format);
	/* The analyzer does not know va_start() when it follows no calls. */
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
	exit(1);
}

uint64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		die("cannot read the limit of open files: %m");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		die("cannot raise the limit of open files: %m");
}

void
address_parse(const char *text, struct address *ret_address)
{
	struct sockaddr_un *local =
		(struct sockaddr_un *)&ret_address->sockaddr;
	struct sockaddr_in *inet = (struct sockaddr_in *)&ret_address->sockaddr;

	memset(ret_address, 0, sizeof(*ret_address));
	if (strncmp(text, "tcp:", 4) == 0) {
		char *end;
		unsigned long port = strtoul(text + 4, &end, 10);

		if (end == text + 4 || *end != '\0' || port > UINT16_MAX)
			die("'%s' is not tcp:PORT", text);
		inet->sin_family = AF_INET;
		inet->sin_port = htons((uint16_t)port);
		inet->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		ret_address->length = sizeof(*inet);
		return;
	}
	if (strlen(text) >= sizeof(local->sun_path))
		die("path '%s' is too long", text);
	local->sun_family = AF_UNIX;
	memcpy(local->sun_path, text, strlen(text));
	ret_address->length = sizeof(*local);
}

static void
set_nodelay(int fd, sa_family_t family)
{
	int on = 1;

	if (family == AF_INET &&
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1)
		die("cannot set TCP_NODELAY: %m");
}

int
address_listen(struct address *address)
{
	const struct sockaddr_un *local =
		(const struct sockaddr_un *)&address->sockaddr;
	bool is_unix = address->sockaddr.ss_family == AF_UNIX;
	int fd;

	fd = socket(address->sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		die("cannot create a socket: %m");
	if (is_unix && unlink(local->sun_path) == -1 && errno != ENOENT)
		die("cannot replace '%s': %m", local->sun_path);
	if (bind(fd, (struct sockaddr *)&address->sockaddr, address->length) ==
	    -1)
		die("cannot bind: %m");
	/* A relay that has given up its privileges must get in as well. */
	if (is_unix && chmod(local->sun_path, 0666) == -1)
		die("cannot open up '%s': %m", local->sun_path);
	if (listen(fd, LISTEN_BACKLOG) == -1)
		die("cannot listen: %m");
	address->length = sizeof(address->sockaddr);
	if (getsockname(fd, (struct sockaddr *)&address->sockaddr,
			&address->length) == -1)
		die("cannot read the bound address: %m");
	return fd;
}

int
address_connect(const struct address *address)
{
	int fd, error;

	fd = socket(address->sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		die("cannot create a socket: %m");
	if (connect(fd, (const struct sockaddr *)&address->sockaddr,
		    address->length) == -1) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	set_nodelay(fd, address->sockaddr.ss_family);
	return fd;
}

int
address_accept(int listen_fd)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t length = sizeof(peer);
	int fd;

	do {
		fd = accept4(listen_fd, (struct sockaddr *)&peer, &length,
			     SOCK_CLOEXEC);
	} while (fd == -1 && (errno == EINTR || errno == ECONNABORTED));
	if (fd == -1)
		die("cannot accept: %m");
	set_nodelay(fd, peer.ss_family);
	return fd;
}

bool
read_full(int fd, void *data, size_t size)
{
	char *at = data;

	while (size > 0) {
		ssize_t n = read(fd, at, size);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

bool
write_full(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

bool
greet(int fd)
{
	char sent = 'g', back = 0;

	return write_full(fd, &sent, 1) && read_full(fd, &back, 1) &&
	       back == sent;
}

uint64_t
cpu_usage_us(const char *path)
{
	static const char key[] = "usage_usec ";
	char text[512];
	ssize_t n;
	int fd;

	if (path == NULL)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		die("cannot open '%s': %m", path);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n == -1)
		die("cannot read '%s': %m", path);
	text[n] = '\0';
	if (strncmp(text, key, strlen(key)) != 0)
		die("'%s' does not start with %s", path, key);
	return strtoull(text + strlen(key), NULL, 10);
}
