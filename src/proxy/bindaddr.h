/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_BINDADDR_H
#define PROXY_BINDADDR_H

/*
 * bindaddr - which address a listener uses, and addresses as text.
 *
 * The operator names the migration network as an address, as an interface or
 * as a network (CIDR). It is looked up each time a listener starts: networks
 * come and go while the daemon runs.
 *
 * Threading: any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct err;
struct ifaddrs;

/* An IPv4 or IPv6 address with a port. */
struct bindaddr {
	struct sockaddr_storage ss;
	socklen_t len;
};

/* Longest text: "[IPv6%interface]:port" and a NUL. */
#define BINDADDR_TEXT_SIZE 72

/*
 * Resolves spec to an address of this host, port 0:
 *  - "" or "*": any address, [::] for both families where there is IPv6;
 *  - an IPv4 or IPv6 address, IPv6 also with %interface: itself;
 *  - a network such as 10.1.0.0/16: an address of this host inside it;
 *  - anything else is the name of an interface.
 * Only interfaces that are up count. Of several addresses the first that is
 * not link-local is taken, IPv4 before IPv6; a link-local one, with its scope,
 * only if there is nothing else.
 *
 * ERR_INVALID: spec is malformed; ERR_NOT_FOUND: no such interface;
 * ERR_UNAVAILABLE: it is down or has no address, or no address lies inside the
 * network. The text tells them apart.
 */
int bindaddr_resolve(const char *spec, struct bindaddr *ret_addr,
		     struct err *err);

/* The same with a given list instead of getifaddrs(3). */
int bindaddr_resolve_in(const struct ifaddrs *list, const char *spec,
			struct bindaddr *ret_addr, struct err *err);

/*
 * An address to dial: "10.0.0.1", "fd00::1", "[fd00::1]", "fe80::1%eth1".
 * Names are not looked up. ERR_INVALID also for an address nobody can dial:
 * the unspecified one and multicast.
 */
int bindaddr_parse(const char *text, uint16_t port, struct bindaddr *ret_addr,
		   struct err *err);

uint16_t bindaddr_port(const struct bindaddr *addr);
void bindaddr_set_port(struct bindaddr *addr, uint16_t port);
bool bindaddr_is_any(const struct bindaddr *addr);

/* "10.0.0.1" or "fd00::1"; a scope is added as "%interface". Returns buf. */
const char *bindaddr_format(const struct bindaddr *addr,
			    char buf[BINDADDR_TEXT_SIZE]);
/* "10.0.0.1:80" or "[fd00::1]:80". Returns buf. */
const char *bindaddr_format_port(const struct bindaddr *addr,
				 char buf[BINDADDR_TEXT_SIZE]);

/* From what accept4(2), getsockname(2) or getpeername(2) gave. */
void bindaddr_from_sockaddr(const struct sockaddr *sa, socklen_t len,
			    struct bindaddr *ret_addr);

#endif
