/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/bindaddr.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

static_assert(BINDADDR_TEXT_SIZE >=
		      INET6_ADDRSTRLEN + IF_NAMESIZE + sizeof("[%]:65535"),
	      "the longest text does not fit");

/* A network: the first bits of an address. */
struct network {
	int family;
	uint8_t bytes[16];
	unsigned bits;
};

static const struct sockaddr_in *
as_v4(const struct bindaddr *addr)
{
	return (const struct sockaddr_in *)(const void *)&addr->ss;
}

static const struct sockaddr_in6 *
as_v6(const struct bindaddr *addr)
{
	return (const struct sockaddr_in6 *)(const void *)&addr->ss;
}

static void
set_v4(struct bindaddr *addr, struct in_addr ip)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr = ip };

	*addr = (struct bindaddr){ .len = sizeof(sin) };
	memcpy(&addr->ss, &sin, sizeof(sin));
}

static void
set_v6(struct bindaddr *addr, const struct in6_addr *ip, uint32_t scope)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
				     .sin6_addr = *ip,
				     .sin6_scope_id = scope };

	*addr = (struct bindaddr){ .len = sizeof(sin6) };
	memcpy(&addr->ss, &sin6, sizeof(sin6));
}

void
bindaddr_from_sockaddr(const struct sockaddr *sa, socklen_t len,
		       struct bindaddr *ret_addr)
{
	*ret_addr = (struct bindaddr){ 0 };
	assert(len <= sizeof(ret_addr->ss));
	memcpy(&ret_addr->ss, sa, len);
	ret_addr->len = len;
}

uint16_t
bindaddr_port(const struct bindaddr *addr)
{
	if (addr->ss.ss_family == AF_INET6)
		return ntohs(as_v6(addr)->sin6_port);
	return ntohs(as_v4(addr)->sin_port);
}

void
bindaddr_set_port(struct bindaddr *addr, uint16_t port)
{
	if (addr->ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&addr->ss)->sin6_port =
			htons(port);
	else
		((struct sockaddr_in *)(void *)&addr->ss)->sin_port =
			htons(port);
}

bool
bindaddr_is_any(const struct bindaddr *addr)
{
	if (addr->ss.ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&as_v6(addr)->sin6_addr);
	return as_v4(addr)->sin_addr.s_addr == htonl(INADDR_ANY);
}

const char *
bindaddr_format(const struct bindaddr *addr, char buf[BINDADDR_TEXT_SIZE])
{
	char name[IF_NAMESIZE];
	size_t len;
	uint32_t scope;

	if (addr->ss.ss_family != AF_INET6) {
		(void)inet_ntop(AF_INET, &as_v4(addr)->sin_addr, buf,
				BINDADDR_TEXT_SIZE);
		return buf;
	}
	(void)inet_ntop(AF_INET6, &as_v6(addr)->sin6_addr, buf,
			BINDADDR_TEXT_SIZE);
	scope = as_v6(addr)->sin6_scope_id;
	if (scope == 0)
		return buf;
	len = strlen(buf);
	if (if_indextoname(scope, name) != NULL)
		(void)snprintf(buf + len, BINDADDR_TEXT_SIZE - len, "%%%s",
			       name);
	else
		(void)snprintf(buf + len, BINDADDR_TEXT_SIZE - len, "%%%u",
			       scope);
	return buf;
}

const char *
bindaddr_format_port(const struct bindaddr *addr, char buf[BINDADDR_TEXT_SIZE])
{
	bool v6 = addr->ss.ss_family == AF_INET6;
	char ip[BINDADDR_TEXT_SIZE];

	(void)snprintf(buf, BINDADDR_TEXT_SIZE, v6 ? "[%s]:%u" : "%s:%u",
		       bindaddr_format(addr, ip), bindaddr_port(addr));
	return buf;
}

/* Reads "fe80::1%eth1" or without scope. -1: no IPv6 address. */
static int
read_v6(const char *text, struct bindaddr *ret)
{
	const char *percent = strchr(text, '%');
	size_t len = percent != NULL ? (size_t)(percent - text) : strlen(text);
	char ip[INET6_ADDRSTRLEN];
	struct in6_addr in6;
	struct err ignored;
	uint64_t scope = 0;

	if (len >= sizeof(ip))
		return -1;
	memcpy(ip, text, len);
	ip[len] = '\0';
	if (inet_pton(AF_INET6, ip, &in6) != 1)
		return -1;
	if (percent != NULL) {
		scope = if_nametoindex(percent + 1);
		if (scope == 0 && str_to_u64(percent + 1, "scope", 1,
					     UINT32_MAX, &scope, &ignored))
			return -1;
	}
	set_v6(ret, &in6, (uint32_t)scope);
	return 0;
}

/* Reads an address in any of its forms. -1: it is none. */
static int
read_address(const char *text, struct bindaddr *ret)
{
	char inner[BINDADDR_TEXT_SIZE];
	struct in_addr in4;
	size_t len = strlen(text);

	if (inet_pton(AF_INET, text, &in4) == 1) {
		set_v4(ret, in4);
		return 0;
	}
	if (len < 2 || text[0] != '[' || text[len - 1] != ']')
		return read_v6(text, ret);
	if (len - 2 >= sizeof(inner))
		return -1;
	memcpy(inner, text + 1, len - 2);
	inner[len - 2] = '\0';
	return read_v6(inner, ret);
}

int
bindaddr_parse(const char *text, uint16_t port, struct bindaddr *ret_addr,
	       struct err *err)
{
	struct bindaddr addr;
	bool multicast;

	if (read_address(text, &addr) == -1)
		return err_set(err, ERR_INVALID,
			       "'%.80s' is not an IPv4 or IPv6 address", text);
	multicast =
		addr.ss.ss_family == AF_INET6
			? IN6_IS_ADDR_MULTICAST(&as_v6(&addr)->sin6_addr)
			: IN_MULTICAST(ntohl(as_v4(&addr)->sin_addr.s_addr));
	if (multicast || bindaddr_is_any(&addr))
		return err_set(err, ERR_INVALID,
			       "'%s' is not the address of a host", text);
	bindaddr_set_port(&addr, port);
	*ret_addr = addr;
	return 0;
}

static const uint8_t *
ip_bytes(const struct bindaddr *addr)
{
	if (addr->ss.ss_family == AF_INET6)
		return as_v6(addr)->sin6_addr.s6_addr;
	return (const uint8_t *)&as_v4(addr)->sin_addr;
}

static int
read_network(const char *spec, struct network *ret, struct err *err)
{
	const char *slash = strchr(spec, '/');
	size_t len = (size_t)(slash - spec);
	char ip[INET6_ADDRSTRLEN];
	uint64_t bits;
	int rc;

	*ret = (struct network){ .family = AF_INET };
	if (len >= sizeof(ip))
		return err_set(err, ERR_INVALID, "'%.80s' is not a network",
			       spec);
	memcpy(ip, spec, len);
	ip[len] = '\0';
	rc = inet_pton(AF_INET, ip, ret->bytes);
	if (rc != 1) {
		ret->family = AF_INET6;
		rc = inet_pton(AF_INET6, ip, ret->bytes);
	}
	if (rc != 1 ||
	    str_to_u64(slash + 1, "prefix", 0,
		       ret->family == AF_INET ? 32 : 128, &bits, err) == -1)
		return err_set(err, ERR_INVALID,
			       "'%.80s' is not a network such as 10.1.0.0/16",
			       spec);
	ret->bits = (unsigned)bits;
	return 0;
}

static bool
network_has(const struct network *net, const struct bindaddr *addr)
{
	const uint8_t *ip = ip_bytes(addr);
	unsigned whole = net->bits / 8, rest = net->bits % 8;
	uint8_t mask = (uint8_t)(0xff00U >> rest);

	if (addr->ss.ss_family != net->family)
		return false;
	if (memcmp(ip, net->bytes, whole) != 0)
		return false;
	return rest == 0 || (ip[whole] & mask) == (net->bytes[whole] & mask);
}

/* How good an address is to listen on; 0: not at all. */
static unsigned
rank(const struct bindaddr *addr)
{
	const struct in6_addr *in6;
	uint32_t in4;

	if (addr->ss.ss_family == AF_INET) {
		in4 = ntohl(as_v4(addr)->sin_addr.s_addr);
		return (in4 >> 16) == 0xa9fe ? 2 : 4; /* 169.254.0.0/16 */
	}
	in6 = &as_v6(addr)->sin6_addr;
	return IN6_IS_ADDR_LINKLOCAL(in6) ? 1 : 3;
}

static bool
entry_address(const struct ifaddrs *entry, struct bindaddr *ret)
{
	const struct sockaddr *sa = entry->ifa_addr;

	if (sa == NULL)
		return false;
	if (sa->sa_family == AF_INET)
		bindaddr_from_sockaddr(sa, sizeof(struct sockaddr_in), ret);
	else if (sa->sa_family == AF_INET6)
		bindaddr_from_sockaddr(sa, sizeof(struct sockaddr_in6), ret);
	else
		return false;
	bindaddr_set_port(ret, 0);
	return true;
}

static int
resolve_network(const struct ifaddrs *list, const char *spec,
		struct bindaddr *ret_addr, struct err *err)
{
	struct bindaddr addr;
	struct network net;
	unsigned best = 0;

	if (read_network(spec, &net, err) == -1)
		return -1;
	for (const struct ifaddrs *e = list; e != NULL; e = e->ifa_next) {
		if (!(e->ifa_flags & IFF_UP) || !entry_address(e, &addr) ||
		    !network_has(&net, &addr))
			continue;
		if (rank(&addr) > best) {
			best = rank(&addr);
			*ret_addr = addr;
		}
	}
	if (best == 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "no address of this host lies in '%s'", spec);
	return 0;
}

static int
resolve_interface(const struct ifaddrs *list, const char *spec,
		  struct bindaddr *ret_addr, struct err *err)
{
	bool found = false, up = false;
	struct bindaddr addr;
	unsigned best = 0;

	for (const struct ifaddrs *e = list; e != NULL; e = e->ifa_next) {
		if (!str_equal(e->ifa_name, spec))
			continue;
		found = true;
		if (!(e->ifa_flags & IFF_UP))
			continue;
		up = true;
		if (entry_address(e, &addr) && rank(&addr) > best) {
			best = rank(&addr);
			*ret_addr = addr;
		}
	}
	if (!found)
		return err_set(err, ERR_NOT_FOUND, "there is no interface '%s'",
			       spec);
	if (!up)
		return err_set(err, ERR_UNAVAILABLE, "interface '%s' is down",
			       spec);
	if (best == 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "interface '%s' has no address", spec);
	return 0;
}

static bool
is_interface_name(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len < IF_NAMESIZE && strpbrk(s, "/ \t\n:") == NULL;
}

/* Both families at once where there is IPv6. */
static void
any_address(struct bindaddr *ret_addr)
{
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6 };
	AUTO(close_fd)
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&any6, sizeof(any6)) == 0)
		set_v6(ret_addr, &in6addr_any, 0);
	else
		set_v4(ret_addr, (struct in_addr){ htonl(INADDR_ANY) });
}

int
bindaddr_resolve_in(const struct ifaddrs *list, const char *spec,
		    struct bindaddr *ret_addr, struct err *err)
{
	struct bindaddr addr;

	if (str_equal(spec, "") || str_equal(spec, "*")) {
		any_address(ret_addr);
		return 0;
	}
	if (strchr(spec, '/') != NULL)
		return resolve_network(list, spec, ret_addr, err);
	if (read_address(spec, &addr) == 0) {
		*ret_addr = addr;
		return 0;
	}
	if (!is_interface_name(spec))
		return err_set(err, ERR_INVALID,
			       "'%.80s' is not an address, a network or the "
			       "name of an interface",
			       spec);
	return resolve_interface(list, spec, ret_addr, err);
}

static void
free_ifaddrs(struct ifaddrs **list)
{
	if (*list != NULL)
		freeifaddrs(*list);
}

int
bindaddr_resolve(const char *spec, struct bindaddr *ret_addr, struct err *err)
{
	AUTO(free_ifaddrs) struct ifaddrs *list = NULL;

	if (getifaddrs(&list) == -1)
		return err_errno(err, "cannot list this host's addresses");
	return bindaddr_resolve_in(list, spec, ret_addr, err);
}
