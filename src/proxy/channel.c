/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/channel.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"

static const struct {
	const char *name;
	uint16_t port;
	const char *infix; /* of the socket's name */
} channels[] = {
	[CHANNEL_CONTROL] = { "control", 0, "" },
	[CHANNEL_DIRECT] = { "direct", 49152, "-49152" },
	[CHANNEL_BLOCK] = { "block", 49153, "-49153" },
};
static_assert(ARRAY_LEN(channels) == CHANNEL_COUNT, "a channel has no row");

#define SUFFIX "-source.sock"
static_assert(CHANNEL_KEY_MAX + sizeof("-49152" SUFFIX) <= CHANNEL_NAME_SIZE,
	      "the longest name does not fit");
static_assert(CHANNEL_PATH_MAX < sizeof(((struct sockaddr_un *)0)->sun_path),
	      "the longest path does not fit");

const char *
channel_name(enum channel channel)
{
	return channels[channel].name;
}

uint16_t
channel_port(enum channel channel)
{
	return channels[channel].port;
}

int
channel_from_port(uint64_t port, enum channel *ret_channel, struct err *err)
{
	for (enum channel c = 0; c < CHANNEL_COUNT; c++) {
		if (channels[c].port == port) {
			*ret_channel = c;
			return 0;
		}
	}
	return err_set(err, ERR_INVALID,
		       "%" PRIu64 " is not a channel: 0 is libvirt's control, "
		       "49152 memory, 49153 disks",
		       port);
}

size_t
channel_list(bool block, enum channel ret_channels[CHANNEL_COUNT])
{
	size_t count = 0;

	ret_channels[count++] = CHANNEL_CONTROL;
	ret_channels[count++] = CHANNEL_DIRECT;
	if (block)
		ret_channels[count++] = CHANNEL_BLOCK;
	return count;
}

int
channel_check_key(const char *key, struct err *err)
{
	if (!str_is_name(key, CHANNEL_KEY_MAX))
		return err_set(err, ERR_INVALID,
			       "'%.80s' is not a key: 1 to %d characters of "
			       "A-Z a-z 0-9 . _ -, not starting with . or -",
			       key, CHANNEL_KEY_MAX);
	return 0;
}

void
channel_socket_name(const char *key, enum channel channel,
		    char ret_name[CHANNEL_NAME_SIZE])
{
	int len = snprintf(ret_name, CHANNEL_NAME_SIZE, "%s%s" SUFFIX, key,
			   channels[channel].infix);

	assert(len > 0 && len < CHANNEL_NAME_SIZE);
}

int
channel_check_paths(const char *dir, const char *key, struct err *err)
{
	char name[CHANNEL_NAME_SIZE];
	size_t len;

	if (channel_check_key(key, err) == -1)
		return -1;
	/* Those with a port in their names are the longest, all alike. */
	channel_socket_name(key, CHANNEL_DIRECT, name);
	len = strlen(dir) + 1 + strlen(name);
	if (len > CHANNEL_PATH_MAX)
		return err_set(err, ERR_INVALID,
			       "the path '%.120s/%s' has %zu characters, a "
			       "unix socket's may have %d",
			       dir, name, len, CHANNEL_PATH_MAX);
	return 0;
}
