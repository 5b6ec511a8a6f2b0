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

#include <stdbool.h>

/*
 * Accepts `streams` connections on listen_fd and serves each in a thread: the
 * greeting is returned, then blocks are taken (see block.h). With `compare`
 * every byte is compared with what block_fill() makes of it, otherwise only
 * the blocks' order and number are checked.
 */
void sink_take_streams(int listen_fd, unsigned streams, bool compare);

/* Returns what arrives, on any number of connections, from one thread. */
void sink_echo(int listen_fd);

#endif
