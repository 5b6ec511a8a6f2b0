/* SPDX-License-Identifier: Apache-2.0 */
#include "net/inet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/str.h"

#define MAC_GROUP 0x01U /* in the first byte */
#define MAC_LOCAL 0x02U

static bool
read_mac(const char *text, struct mac *mac)
{
	char separator = text[0] != '\0' && text[1] != '\0' ? text[2] : '\0';

	if (separator != ':' && separator != '-')
		return false;
	for (size_t i = 0; i < MAC_LEN; i++) {
		int high = str_hex_digit(text[0]);
		int low = high == -1 ? -1 : str_hex_digit(text[1]);

		if (low == -1)
			return false;
		mac->bytes[i] = (uint8_t)(high << 4 | low);
		if (text[2] != (i + 1 < MAC_LEN ? separator : '\0'))
			return false;
		text += 3;
	}
	return true;
}

int
mac_parse(const char *text, struct mac *ret_mac, struct err *err)
{
	struct mac mac = { 0 };

	if (!read_mac(text, &mac))
		return err_set(err, ERR_INVALID, "'%s' is no MAC address",
			       text);
	if (mac_is_zero(&mac) || (mac.bytes[0] & MAC_GROUP))
		return err_set(err, ERR_INVALID,
			       "'%s' is not the MAC address of one station",
			       text);
	*ret_mac = mac;
	return 0;
}

const char *
mac_text(const struct mac *mac, char buf[MAC_TEXT_SIZE])
{
	const uint8_t *b = mac->bytes;

	(void)snprintf(buf, MAC_TEXT_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x",
		       b[0], b[1], b[2], b[3], b[4], b[5]);
	return buf;
}

bool
mac_equal(const struct mac *a, const struct mac *b)
{
	return memcmp(a->bytes, b->bytes, MAC_LEN) == 0;
}

bool
mac_is_zero(const struct mac *mac)
{
	static const struct mac zero;

	return mac_equal(mac, &zero);
}

struct mac
mac_local(const uint8_t bytes[MAC_LEN])
{
	struct mac mac;

	memcpy(mac.bytes, bytes, MAC_LEN);
	mac.bytes[0] = (uint8_t)((mac.bytes[0] & ~(MAC_GROUP | MAC_LOCAL)) |
				 MAC_LOCAL);
	return mac;
}

int
ip_parse(const char *text, struct ip *ret_ip, struct err *err)
{
	struct ip ip = { .family = strchr(text, ':') ? AF_INET6 : AF_INET };

	if (inet_pton(ip.family, text, ip.bytes) != 1)
		return err_set(err, ERR_INVALID, "'%s' is no IP address", text);
	*ret_ip = ip;
	return 0;
}

const char *
ip_text(const struct ip *ip, char buf[IP_TEXT_SIZE])
{
	if (ip->family == 0 ||
	    inet_ntop(ip->family, ip->bytes, buf, IP_TEXT_SIZE) == NULL)
		buf[0] = '\0';
	return buf;
}

size_t
ip_len(int family)
{
	return family == AF_INET6 ? sizeof(struct in6_addr)
				  : sizeof(struct in_addr);
}

unsigned
ip_bits(int family)
{
	return 8 * (unsigned)ip_len(family);
}

bool
ip_equal(const struct ip *a, const struct ip *b)
{
	return a->family == b->family &&
	       memcmp(a->bytes, b->bytes, ip_len(a->family)) == 0;
}

bool
ip_is_zero(const struct ip *ip)
{
	static const uint8_t zero[sizeof(ip->bytes)];

	return memcmp(ip->bytes, zero, ip_len(ip->family)) == 0;
}

int
ip_prefix_parse(const char *text, struct ip_prefix *ret_prefix, struct err *err)
{
	const char *slash = strchr(text, '/');
	char ip[IP_TEXT_SIZE];
	struct ip_prefix prefix;
	uint64_t len;

	if (slash != NULL && (size_t)(slash - text) >= sizeof(ip))
		return err_set(err, ERR_INVALID, "'%s' is no prefix", text);
	(void)snprintf(ip, sizeof(ip), "%.*s",
		       (int)(slash ? slash - text : (long)strlen(text)), text);
	if (ip_parse(ip, &prefix.ip, err) == -1)
		return err_set(err, ERR_INVALID, "'%s' is no prefix", text);
	len = ip_bits(prefix.ip.family);
	if (slash != NULL &&
	    str_to_u64(slash + 1, text, 0, len, &len, err) == -1)
		return -1;
	prefix.len = (uint8_t)len;
	*ret_prefix = prefix;
	return 0;
}

const char *
ip_prefix_text(const struct ip_prefix *prefix, char buf[IP_PREFIX_TEXT_SIZE])
{
	char ip[IP_TEXT_SIZE];

	(void)snprintf(buf, IP_PREFIX_TEXT_SIZE, "%s/%u",
		       ip_text(&prefix->ip, ip), prefix->len);
	return buf;
}

bool
ip_prefix_equal(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len == b->len && ip_equal(&a->ip, &b->ip);
}

bool
ip_prefix_contains(const struct ip_prefix *prefix, const struct ip *ip)
{
	unsigned whole = prefix->len / 8, rest = prefix->len % 8;
	uint8_t mask = (uint8_t)(0xff00U >> rest);

	if (prefix->ip.family != ip->family ||
	    memcmp(prefix->ip.bytes, ip->bytes, whole) != 0)
		return false;
	return rest == 0 ||
	       ((prefix->ip.bytes[whole] ^ ip->bytes[whole]) & mask) == 0;
}

int
ip_prefix_nth(const struct ip_prefix *prefix, uint32_t n, struct ip *ret_ip,
	      struct err *err)
{
	struct ip ip = prefix->ip;
	unsigned bits = ip_bits(ip.family);
	uint64_t carry = n;
	char buf[IP_PREFIX_TEXT_SIZE];

	for (unsigned bit = prefix->len; bit < bits; bit++)
		ip.bytes[bit / 8] &= (uint8_t) ~(0x80U >> (bit % 8));
	for (size_t i = ip_len(ip.family); i > 0 && carry > 0; i--) {
		carry += ip.bytes[i - 1];
		ip.bytes[i - 1] = (uint8_t)carry;
		carry >>= 8;
	}
	if (carry > 0 || !ip_prefix_contains(prefix, &ip))
		return err_set(err, ERR_INVALID,
			       "'%s' has no room for address %u",
			       ip_prefix_text(prefix, buf), n);
	*ret_ip = ip;
	return 0;
}
