/* SPDX-License-Identifier: Apache-2.0 */
#include "net/announce.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "net/tap.h"
#include "net/testnet.h"

#define VIRTIO_HEADER 10
#define DEADLINE_MS 60000

struct wire {
	struct testnet net;
	int fd; /* of the tap, as a switch would see it */
};

static struct wire
wire_new(void)
{
	struct wire wire = { .net = testnet_new(), .fd = -1 };
	struct tap_spec spec = { "tap0", LINK_NOBODY, LINK_NOBODY, false };

	assert_ok(tap_add(wire.net.fd, &spec, err));
	/* First open, then up: the other way the kernel drops what is sent
	 * until it has noticed that there is somebody. */
	assert_ok(tap_open(wire.net.fd, "tap0", &wire.fd, err));
	assert_ok(link_set_up(wire.net.nl, "tap0", true, err));
	return wire;
}

static void
wire_done(struct wire *wire)
{
	close_fd(&wire->fd);
	testnet_done(&wire->net);
}

/* The next frame that the given station sent. */
static size_t
next_frame(const struct wire *wire, const struct mac *from, uint8_t frame[256])
{
	struct pollfd wait = { .fd = wire->fd, .events = POLLIN };
	uint8_t data[2048];

	for (;;) {
		ssize_t n;

		assert_int_equal(poll(&wait, 1, DEADLINE_MS), 1);
		n = read(wire->fd, data, sizeof(data));
		assert_true(n >= VIRTIO_HEADER + 14 && n < 256);
		if (memcmp(data + VIRTIO_HEADER + 6, from->bytes, MAC_LEN) ==
		    0) {
			memcpy(frame, data + VIRTIO_HEADER, 256);
			return (size_t)n - VIRTIO_HEADER;
		}
	}
}

static const struct mac guest = { { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 } };

static void
test_a_gratuitous_arp_names_the_machine_twice(void **state)
{
	static const uint8_t want[60] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x11, 0x22,
		0x33, 0x44, 0x55, 0x08, 0x06, 0,    1,    0x08, 0,
		6,    4,    0,    1,    0x02, 0x11, 0x22, 0x33, 0x44,
		0x55, 10,   1,    2,    3,    0,    0,    0,    0,
		0,    0,    10,   1,    2,    3,
	};
	AUTO(wire_done) struct wire wire = wire_new();
	struct ip ip = testnet_ip("10.1.2.3");
	uint8_t frame[256];

	(void)state;
	assert_ok(announce_ip(wire.net.fd, "tap0", &guest, &ip, err));
	assert_int_equal(next_frame(&wire, &guest, frame), sizeof(want));
	assert_memory_equal(frame, want, sizeof(want));
}

static void
test_a_rarp_names_the_machine_and_no_address(void **state)
{
	static const uint8_t want[60] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x11, 0x22, 0x33,
		0x44, 0x55, 0x80, 0x35, 0,    1,    0x08, 0,    6,    4,
		0,    3,    0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0,    0,
		0,    0,    0x02, 0x11, 0x22, 0x33, 0x44, 0x55,
	};
	AUTO(wire_done) struct wire wire = wire_new();
	uint8_t frame[256];

	(void)state;
	assert_ok(announce_rarp(wire.net.fd, "tap0", &guest, err));
	assert_int_equal(next_frame(&wire, &guest, frame), sizeof(want));
	assert_memory_equal(frame, want, sizeof(want));
}

/* A receiver sums up all words, the checksum's too, and gets all ones. */
static void
assert_checksum(const uint8_t *frame, size_t len)
{
	uint32_t sum = 58 + (uint32_t)(len - 54);

	for (size_t i = 14 + 8; i < len; i += 2)
		sum += (uint32_t)frame[i] << 8 | frame[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	assert_int_equal(sum, 0xffff);
}

static void
test_an_unsolicited_advertisement_overrides(void **state)
{
	AUTO(wire_done) struct wire wire = wire_new();
	struct ip ip = testnet_ip("fd10::3");
	uint8_t frame[256];
	size_t len;

	(void)state;
	assert_ok(announce_ip(wire.net.fd, "tap0", &guest, &ip, err));
	len = next_frame(&wire, &guest, frame);
	assert_int_equal(len, 14 + 40 + 24 + 8);
	assert_memory_equal(frame, "\x33\x33\0\0\0\x01", 6);
	assert_int_equal(frame[14 + 7], 255);   /* hops */
	assert_int_equal(frame[14 + 40], 136);  /* advertisement */
	assert_int_equal(frame[14 + 44], 0x20); /* override */
	assert_memory_equal(frame + 14 + 48, ip.bytes, 16);
	assert_memory_equal(frame + 14 + 66, guest.bytes, 6);
	assert_checksum(frame, len);
}

static void
test_a_link_that_is_not_there_is_not_found(void **state)
{
	AUTO(wire_done) struct wire wire = wire_new();

	(void)state;
	assert_fails(announce_rarp(wire.net.fd, "nix", &guest, err),
		     ERR_NOT_FOUND);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_gratuitous_arp_names_the_machine_twice),
		cmocka_unit_test(test_a_rarp_names_the_machine_and_no_address),
		cmocka_unit_test(test_an_unsolicited_advertisement_overrides),
		cmocka_unit_test(test_a_link_that_is_not_there_is_not_found),
	};

	return cmocka_run_group_tests_name("announce", tests, NULL, NULL);
}
