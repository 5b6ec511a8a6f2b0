/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_SINK_H
#define BENCH_SINK_H

/*
 * sink - the far end of the load generator: it stands where the target's QEMU
 * would stand, behind the second relay.
 *
 * Sinks live in threads of their own until the program ends; they own the
 * connections they accept. What arrives damaged or in the wrong order ends the
 * program.
 */

/* What becomes of the bytes. Order and number of blocks are always checked. */
enum sink_way {
	SINK_DISCARDS, /* the kernel drops them: relays have the CPU */
	SINK_READS,    /* copied into a buffer, as QEMU would */
	SINK_COMPARES, /* each compared with what block_fill() makes */
};

/*
 * Accepts `streams` connections on listen_fd and serves each in a thread: the
 * greeting is returned, then blocks are taken (see block.h).
 */
void sink_take_streams(int listen_fd, unsigned streams, enum sink_way way);

/* Returns what arrives, on any number of connections, from one thread. */
void sink_echo(int listen_fd);

#endif
