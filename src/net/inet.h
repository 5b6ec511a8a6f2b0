/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_INET_H
#define NET_INET_H

/*
 * inet - addresses of interfaces: MAC, IPv4, IPv6, and prefixes of the latter.
 *
 * All are plain values. Parsers take the whole text or fail with ERR_INVALID,
 * naming it. Threading: any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define MAC_LEN 6
#define MAC_TEXT_SIZE 18
#define IP_TEXT_SIZE 46        /* INET6_ADDRSTRLEN */
#define IP_PREFIX_TEXT_SIZE 50 /* with "/128" */

struct mac {
	uint8_t bytes[MAC_LEN];
};

struct ip {
	int family; /* AF_INET, AF_INET6; 0: none */
	uint8_t bytes[16];
};

struct ip_prefix {
	struct ip ip; /* may have bits behind the prefix: an address */
	uint8_t len;
};

/* Of one station: neither all zeroes nor a group's. Colons or dashes. */
int mac_parse(const char *text, struct mac *ret_mac, struct err *err);
const char *mac_text(const struct mac *mac, char buf[MAC_TEXT_SIZE]);
bool mac_equal(const struct mac *a, const struct mac *b);
bool mac_is_zero(const struct mac *mac);
/* Six bytes of some hash as a MAC that no vendor gives out. */
struct mac mac_local(const uint8_t bytes[MAC_LEN]);

int ip_parse(const char *text, struct ip *ret_ip, struct err *err);
const char *ip_text(const struct ip *ip, char buf[IP_TEXT_SIZE]);
bool ip_equal(const struct ip *a, const struct ip *b);
size_t ip_len(int family);    /* 4 or 16 bytes */
unsigned ip_bits(int family); /* 32 or 128 */
bool ip_is_zero(const struct ip *ip);

/* Without a slash the whole address counts. */
int ip_prefix_parse(const char *text, struct ip_prefix *ret_prefix,
		    struct err *err);
const char *ip_prefix_text(const struct ip_prefix *prefix,
			   char buf[IP_PREFIX_TEXT_SIZE]);
bool ip_prefix_equal(const struct ip_prefix *a, const struct ip_prefix *b);
bool ip_prefix_contains(const struct ip_prefix *prefix, const struct ip *ip);
/* The address n behind the prefix's first; the prefix has room for it or this
 * is ERR_INVALID. */
int ip_prefix_nth(const struct ip_prefix *prefix, uint32_t n, struct ip *ret_ip,
		  struct err *err);

#endif
