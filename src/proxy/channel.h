/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_CHANNEL_H
#define PROXY_CHANNEL_H

/*
 * channel - the kinds of connection a migration is made of.
 *
 * A channel is named by its logical port, the number both nodes and libvirt
 * agree on: 0 is libvirt's own conversation, 49152 is memory, 49153 is disks.
 * Which TCP port carries it is another matter (tcplisten). On each node a
 * channel of a migration is a unix socket whose name follows from the
 * migration's key; the name is the same on both.
 *
 * Pure functions, any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum channel {
	CHANNEL_CONTROL, /* libvirtd to libvirtd */
	CHANNEL_DIRECT,  /* QEMU to QEMU, memory and device state */
	CHANNEL_BLOCK,   /* QEMU to QEMU, disks by NBD */
	CHANNEL_COUNT,
};

#define CHANNEL_KEY_MAX 64 /* characters; a UID has 36 */

/* Longest name of a socket: key, "-49152", "-source.sock", NUL. */
#define CHANNEL_NAME_SIZE (CHANNEL_KEY_MAX + 20)

/* Longest path of a unix socket, without the NUL (sun_path holds 108). */
#define CHANNEL_PATH_MAX 107

/* "control", "direct", "block". */
const char *channel_name(enum channel channel);

/* 0, 49152, 49153. */
uint16_t channel_port(enum channel channel);

/* ERR_INVALID for a port that is no channel's. */
int channel_from_port(uint64_t port, enum channel *ret_channel,
		      struct err *err);

/*
 * The channels a migration needs, in order of their ports: control and direct
 * always, block when disks move. Returns how many.
 */
size_t channel_list(bool block, enum channel ret_channels[CHANNEL_COUNT]);

/* ERR_INVALID unless key can be part of the sockets' names. */
int channel_check_key(const char *key, struct err *err);

/*
 * The name of the socket below the directory: "KEY-source.sock" for control,
 * "KEY-49152-source.sock", "KEY-49153-source.sock". The key must have been
 * checked.
 */
void channel_socket_name(const char *key, enum channel channel,
			 char ret_name[CHANNEL_NAME_SIZE]);

/*
 * ERR_INVALID if a program could not be told to connect to the sockets of key
 * in dir, because the path of any of them would not fit into a sockaddr_un.
 */
int channel_check_paths(const char *dir, const char *key, struct err *err);

#endif
