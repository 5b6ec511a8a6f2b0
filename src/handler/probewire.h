/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_PROBEWIRE_H
#define HANDLER_PROBEWIRE_H

/*
 * probewire - what two handlers say to each other through their proxies when
 * they measure the way between them.
 *
 *	source				target
 *	connects			accepts
 *					-> PROBE_GREETING
 *	PROBE_PING ->			-> the same byte
 *	any number of bytes, EOF ->	-> how many came, 8 bytes, big-endian
 *
 * The connection is the proxies' own: both have made sure which node is on the
 * other end. Whatever else comes is hostile, and ends it.
 */

#include <stdint.h>

#define PROBE_GREETING 'F'
#define PROBE_PING 'p'
#define PROBE_COUNT_LEN 8U

/* What goes through at most, however fast the network is, and for how long. */
#define PROBE_BYTES_MAX (1024ULL * 1024 * 1024)
#define PROBE_SEND_MS 1000U
/* Of one read or write: machines are looked at in between. */
#define PROBE_CHUNK (256UL * 1024)

/* The keys of listeners that measure begin so; a machine's is a UUID. */
#define PROBE_KEY_PREFIX "probe-"
/* The socket of channel 49152 in the directory of a listener. */
#define PROBE_SOCKET_FORMAT "%s-49152-source.sock"

#endif
