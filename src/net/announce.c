/* SPDX-License-Identifier: Apache-2.0 */
#include "net/announce.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/ip6.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "net/netns.h"

#define RARP_REQUEST 3
#define NEIGHBOUR_HOPS 255 /* RFC 4861: proof that no router was in between */

static const uint8_t broadcast[MAC_LEN] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff
};
static const uint8_t all_nodes_mac[MAC_LEN] = { 0x33, 0x33, 0, 0, 0, 1 };
static const struct in6_addr all_nodes = {
	{ { 0xff, 0x02, [15] = 1 } },
};

struct arp_frame {
	struct ether_header ether;
	struct ether_arp arp;
	uint8_t padding[ETH_ZLEN - sizeof(struct ether_header) -
			sizeof(struct ether_arp)];
} __attribute__((packed));

struct na_frame {
	struct ether_header ether;
	struct ip6_hdr ip;
	struct nd_neighbor_advert advert;
	struct nd_opt_hdr option;
	uint8_t mac[MAC_LEN];
} __attribute__((packed));

struct frame {
	const char *link;
	const void *data;
	size_t len;
};

static int
send_frame(void *arg, struct err *err)
{
	const struct frame *frame = arg;
	const struct ether_header *ether = frame->data;
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_protocol = ether->ether_type,
				  .sll_halen = MAC_LEN };
	/* Protocol 0: nothing is received. */
	AUTO(close_fd) int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return err_errno(err, "cannot make a packet socket");
	to.sll_ifindex = (int)if_nametoindex(frame->link);
	if (to.sll_ifindex == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no link '%s'",
			       frame->link);
	memcpy(to.sll_addr, ether->ether_dhost, MAC_LEN);
	if (sendto(fd, frame->data, frame->len, MSG_DONTWAIT,
		   (struct sockaddr *)&to, sizeof(to)) == -1)
		return err_errno(err, "cannot announce on '%s'", frame->link);
	return 0;
}

static void
fill_ether(struct ether_header *ether, const struct mac *from,
	   const uint8_t *to, uint16_t type)
{
	memcpy(ether->ether_dhost, to, MAC_LEN);
	memcpy(ether->ether_shost, from->bytes, MAC_LEN);
	ether->ether_type = htons(type);
}

static int
send_arp(int netns_fd, const char *link, const struct mac *mac,
	 const struct ip *ip, struct err *err)
{
	struct arp_frame frame = { .padding = { 0 } };
	struct frame out = { link, &frame, sizeof(frame) };

	fill_ether(&frame.ether, mac, broadcast,
		   ip ? ETHERTYPE_ARP : ETHERTYPE_REVARP);
	frame.arp.ea_hdr = (struct arphdr){
		.ar_hrd = htons(ARPHRD_ETHER),
		.ar_pro = htons(ETHERTYPE_IP),
		.ar_hln = MAC_LEN,
		.ar_pln = sizeof(frame.arp.arp_spa),
		.ar_op = htons(ip ? ARPOP_REQUEST : RARP_REQUEST),
	};
	memcpy(frame.arp.arp_sha, mac->bytes, MAC_LEN);
	if (ip == NULL) {
		memcpy(frame.arp.arp_tha, mac->bytes, MAC_LEN);
	} else {
		memcpy(frame.arp.arp_spa, ip->bytes, sizeof(frame.arp.arp_spa));
		memcpy(frame.arp.arp_tpa, ip->bytes, sizeof(frame.arp.arp_tpa));
	}
	return netns_run(netns_fd, send_frame, &out, err);
}

/* The Internet checksum's sum; len is even. */
static uint32_t
add_words(uint32_t sum, const void *data, size_t len)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	return sum;
}

static uint16_t
checksum(const struct na_frame *frame)
{
	size_t len = sizeof(*frame) - offsetof(struct na_frame, advert);
	const uint8_t *payload =
		(const uint8_t *)frame + offsetof(struct na_frame, advert);
	uint32_t sum =
		add_words(0, &frame->ip.ip6_src, sizeof(struct in6_addr));

	sum = add_words(sum, &frame->ip.ip6_dst, sizeof(struct in6_addr));
	sum += (uint32_t)len + IPPROTO_ICMPV6;
	sum = add_words(sum, payload, len);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static int
send_na(int netns_fd, const char *link, const struct mac *mac,
	const struct ip *ip, struct err *err)
{
	struct na_frame frame = { .mac = { 0 } };
	struct frame out = { link, &frame, sizeof(frame) };

	fill_ether(&frame.ether, mac, all_nodes_mac, ETHERTYPE_IPV6);
	frame.ip.ip6_flow = htonl(6U << 28);
	frame.ip.ip6_plen = htons(
		(uint16_t)(sizeof(frame) - offsetof(struct na_frame, advert)));
	frame.ip.ip6_nxt = IPPROTO_ICMPV6;
	frame.ip.ip6_hlim = NEIGHBOUR_HOPS;
	memcpy(&frame.ip.ip6_src, ip->bytes, sizeof(frame.ip.ip6_src));
	frame.ip.ip6_dst = all_nodes;
	frame.advert.nd_na_type = ND_NEIGHBOR_ADVERT;
	frame.advert.nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE;
	memcpy(&frame.advert.nd_na_target, ip->bytes,
	       sizeof(frame.advert.nd_na_target));
	frame.option.nd_opt_type = ND_OPT_TARGET_LINKADDR;
	frame.option.nd_opt_len = 1;
	memcpy(frame.mac, mac->bytes, MAC_LEN);
	frame.advert.nd_na_cksum = checksum(&frame);
	return netns_run(netns_fd, send_frame, &out, err);
}

int
announce_ip(int netns_fd, const char *link, const struct mac *mac,
	    const struct ip *ip, struct err *err)
{
	if (ip->family == AF_INET6)
		return send_na(netns_fd, link, mac, ip, err);
	return send_arp(netns_fd, link, mac, ip, err);
}

int
announce_rarp(int netns_fd, const char *link, const struct mac *mac,
	      struct err *err)
{
	return send_arp(netns_fd, link, mac, NULL, err);
}
