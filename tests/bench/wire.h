/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

/*
 * wire - sockets, clocks and whole reads and writes for the load generator.
 *
 * A load generator that cannot do what it was asked to has no result worth
 * reporting, so everything here ends the program with a message on stderr and
 * status 1 instead of returning an error, unless it says otherwise.
 *
 * Threading: all functions may be called from any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Where to listen or connect: a unix path, or "tcp:PORT" on 127.0.0.1. */
struct address {
	struct sockaddr_storage sockaddr;
	socklen_t length;
};

_Noreturn void die(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* Monotonic time in nanoseconds. */
uint64_t clock_ns(void);

/* Raises the limit of open files to what the system lets us have. */
void raise_file_limit(void);

void address_parse(const char *text, struct address *ret_address);

/*
 * Listens at *address; anybody may connect to a unix path, an old socket there
 * is replaced. With "tcp:0" the port is the kernel's choice and *address is
 * updated to it. The caller owns the blocking descriptor.
 */
int address_listen(struct address *address);

/* Returns a blocking descriptor, or -1 with errno. TCP_NODELAY is set. */
int address_connect(const struct address *address);

/* Accepts one connection and sets TCP_NODELAY on it if it is TCP. */
int address_accept(int listen_fd);

/* Both return false when the peer closed or failed before all was moved. */
bool read_full(int fd, void *data, size_t size);
bool write_full(int fd, const void *data, size_t size);

/* Sends one byte and waits for it to come back. False if it does not. */
bool greet(int fd);

/* Microseconds of CPU in a cgroup2 cpu.stat file; 0 when path is NULL. */
uint64_t cpu_usage_us(const char *path);

#endif
