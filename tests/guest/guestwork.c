/* SPDX-License-Identifier: Apache-2.0 */

/*
 * guestwork - what the test guest does all day, so that a migration which
 * loses, repeats or damages anything shows on the guest's serial console.
 *
 * Each mode is a process of its own and reports in lines of "key=value":
 *
 *   counter INTERVAL_MS          counter boot=ID n=N
 *   memcheck MIB RATE SWEEP      memcheck pass=N rewritten=N bad=N
 *   diskcheck DEVICE RATE        diskcheck written=N read=N bad=N
 *   echo PORT                    echo port=PORT
 *   clock PORT                   nothing: it answers datagrams
 *
 * RATE is pages (4 KiB) per second, "max" is as fast as the guest can; SWEEP is
 * MiB per second that are checked. A line is one write(2), so lines of
 * different processes do not mix.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/fs.h>

#define PAGE_BYTES 4096U
#define PAGE_WORDS (PAGE_BYTES / sizeof(uint64_t))
#define TICK_MS 10
#define TICKS_PER_SECOND (1000 / TICK_MS)

#define PAGES_PER_MIB 256U

#define REPORT_MS 200
#define RATE_MAX UINT64_MAX

#define RECORD_MAGIC UINT64_C(0x6365727972726566) /* "ferryrec" */

/* One block on the disk; tests/system/lab_disk.py reads the same layout. */
struct record {
	uint64_t magic;
	uint64_t number; /* from 1, never repeated */
	uint32_t crc;    /* CRC-32 of body, as zlib computes it */
	uint32_t zero;
	uint8_t body[PAGE_BYTES - 24];
};

_Static_assert(sizeof(struct record) == PAGE_BYTES, "a record is one block");

__attribute__((format(printf, 1, 2))) static void
say(const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	int len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (len < 0)
		abort();
	if ((size_t)len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len] = '\n';
	/* A console that cannot be written to leaves nobody to tell. */
	if (write(STDOUT_FILENO, line, (size_t)len + 1) == -1)
		exit(1);
}

__attribute__((noreturn)) static void
fail(const char *what)
{
	say("guestwork failed: %s: %s", what, strerror(errno));
	exit(1);
}

static uint64_t
now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Sleeps until *next and moves it on; a guest that stood still starts anew. */
static void
tick(uint64_t *next, uint64_t interval_ms)
{
	uint64_t now = now_ms();

	if (now > *next + 1000)
		*next = now;
	if (now < *next) {
		uint64_t rest = *next - now;
		struct timespec wait = {
			.tv_sec = (time_t)(rest / 1000),
			.tv_nsec = (long)(rest % 1000) * 1000000,
		};
		(void)nanosleep(&wait, NULL);
	}
	*next += interval_ms;
}

static uint64_t
parse_rate(const char *text)
{
	return strcmp(text, "max") == 0 ? RATE_MAX : strtoull(text, NULL, 10);
}

/* splitmix64: every input bit changes about half of the output bits. */
static uint64_t
mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static int
run_counter(char **args)
{
	uint64_t interval_ms = strtoull(args[0], NULL, 10);
	uint64_t next = now_ms();
	char boot[9] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd == -1 || read(fd, boot, sizeof(boot) - 1) == -1)
		fail("boot id");
	(void)close(fd);

	for (uint64_t n = 1;; n++) {
		say("counter boot=%s n=%llu", boot, (unsigned long long)n);
		tick(&next, interval_ms);
	}
}

/*
 * Page p holds a pattern made of p and the generation it was last written in.
 * Writing goes round and round: pages before the cursor are one generation
 * ahead of those behind it, so the right content of every page is known.
 */
struct memory {
	uint64_t *words;
	uint64_t pages;
	uint64_t generation;
	uint64_t cursor;
	uint64_t rewritten;
	uint64_t bad;
};

static uint64_t
memory_seed(uint64_t page, uint64_t generation)
{
	return mix(page ^ mix(generation));
}

static void
memory_fill(struct memory *m, uint64_t page, uint64_t generation)
{
	uint64_t *at = m->words + page * PAGE_WORDS;
	uint64_t seed = memory_seed(page, generation);

	for (uint64_t i = 0; i < PAGE_WORDS; i++)
		at[i] = seed + i * seed;
}

static void
memory_check(struct memory *m, uint64_t page)
{
	const uint64_t *at = m->words + page * PAGE_WORDS;
	uint64_t generation = m->generation + (page < m->cursor ? 1 : 0);
	uint64_t seed = memory_seed(page, generation);

	for (uint64_t i = 0; i < PAGE_WORDS; i++) {
		if (at[i] == seed + i * seed)
			continue;
		m->bad++;
		say("memcheck found page=%llu word=%llu generation=%llu "
		    "bad=%llu",
		    (unsigned long long)page, (unsigned long long)i,
		    (unsigned long long)generation, (unsigned long long)m->bad);
		return;
	}
}

static void
memory_rewrite(struct memory *m)
{
	memory_check(m, m->cursor);
	memory_fill(m, m->cursor, m->generation + 1);
	m->rewritten++;
	m->cursor++;
	if (m->cursor == m->pages) {
		m->cursor = 0;
		m->generation++;
	}
}

static int
run_memcheck(char **args)
{
	uint64_t bytes = strtoull(args[0], NULL, 10) << 20;
	uint64_t rate = parse_rate(args[1]);
	struct memory m = { .pages = bytes / PAGE_BYTES };
	uint64_t sweep = strtoull(args[2], NULL, 10) * PAGES_PER_MIB;
	uint64_t due = 0;
	uint64_t check_due = 0;
	uint64_t swept = 0;
	uint64_t passes = 0;

	m.words = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m.words == MAP_FAILED)
		fail("memory");
	for (uint64_t page = 0; page < m.pages; page++)
		memory_fill(&m, page, 0);

	uint64_t next = now_ms();
	uint64_t reported = next;
	for (;;) {
		/* Without a limit: as much as shows the sweep regularly. */
		due += rate == RATE_MAX ? UINT64_C(1000) * TICKS_PER_SECOND
					: rate;
		for (; due >= TICKS_PER_SECOND; due -= TICKS_PER_SECOND)
			memory_rewrite(&m);

		check_due += sweep;
		for (; check_due >= TICKS_PER_SECOND;
		     check_due -= TICKS_PER_SECOND) {
			memory_check(&m, swept);
			if (++swept == m.pages) {
				swept = 0;
				passes++;
			}
		}
		if (now_ms() >= reported + REPORT_MS) {
			reported = now_ms();
			say("memcheck pass=%llu rewritten=%llu bad=%llu",
			    (unsigned long long)passes,
			    (unsigned long long)m.rewritten,
			    (unsigned long long)m.bad);
		}
		if (rate != RATE_MAX)
			tick(&next, TICK_MS);
	}
}

static uint32_t
crc32_of(const uint8_t *data, size_t len)
{
	uint32_t crc = ~0U;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
	}
	return ~crc;
}

static void
record_make(struct record *r, uint64_t number)
{
	uint64_t seed = mix(number);

	*r = (struct record){ .magic = RECORD_MAGIC, .number = number };
	for (size_t i = 0; i < sizeof(r->body); i++)
		r->body[i] = (uint8_t)(seed >> (i % 8 * 8)) ^ (uint8_t)i;
	r->crc = crc32_of(r->body, sizeof(r->body));
}

/*
 * Records go round the first half of the disk, each one flushed before the
 * next; the second half is left as the test filled it.
 */
static int
run_diskcheck(char **args)
{
	uint64_t interval_ms = 1000 / strtoull(args[1], NULL, 10);
	uint64_t size = 0;
	uint64_t checked = 0;
	uint64_t bad = 0;
	struct record *r = aligned_alloc(PAGE_BYTES, sizeof(*r));
	struct record *want = aligned_alloc(PAGE_BYTES, sizeof(*want));
	int fd = open(args[0], O_RDWR | O_DIRECT | O_CLOEXEC);

	if (!r || !want || fd == -1 || ioctl(fd, BLKGETSIZE64, &size) == -1)
		fail(args[0]);
	uint64_t slots = size / 2 / PAGE_BYTES;

	uint64_t next = now_ms();
	uint64_t reported = next;
	for (uint64_t n = 1;; n++) {
		record_make(r, n);
		if (pwrite(fd, r, PAGE_BYTES,
			   (off_t)(n % slots * PAGE_BYTES)) !=
			    (ssize_t)PAGE_BYTES ||
		    fdatasync(fd) == -1)
			fail("write");

		/* One older record per new one, oldest first. */
		uint64_t first = n > slots ? n - slots + 1 : 1;
		uint64_t old = first + checked % (n - first + 1);
		record_make(want, old);
		if (pread(fd, r, PAGE_BYTES,
			  (off_t)(old % slots * PAGE_BYTES)) !=
		    (ssize_t)PAGE_BYTES)
			fail("read");
		if (memcmp(r, want, sizeof(*r)) != 0)
			bad++;
		checked++;

		if (now_ms() >= reported + REPORT_MS) {
			reported = now_ms();
			say("diskcheck written=%llu read=%llu bad=%llu",
			    (unsigned long long)n, (unsigned long long)checked,
			    (unsigned long long)bad);
		}
		tick(&next, interval_ms);
	}
}

/* Returns what was received to its sender; false when the peer is gone. */
static bool
echo_tcp(int fd)
{
	char buf[2048];
	ssize_t len = read(fd, buf, sizeof(buf));

	return len > 0 && write(fd, buf, (size_t)len) == len;
}

static int
run_echo(char **args)
{
	int port = (int)strtol(args[0], NULL, 10);
	struct sockaddr_in6 addr = {
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)port),
	};
	struct pollfd fds[16];
	nfds_t count = 1;
	int on = 1;

	fds[0].fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fds[0].events = POLLIN;
	if (fds[0].fd == -1 ||
	    setsockopt(fds[0].fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ==
		    -1 ||
	    bind(fds[0].fd, (struct sockaddr *)&addr, sizeof(addr)) == -1 ||
	    listen(fds[0].fd, 8) == -1)
		fail("echo");
	say("echo port=%d", port);

	for (;;) {
		if (poll(fds, count, -1) == -1)
			fail("poll");
		for (nfds_t i = count - 1; i > 0; i--) {
			if (fds[i].revents == 0 || echo_tcp(fds[i].fd))
				continue;
			(void)close(fds[i].fd);
			fds[i] = fds[--count];
		}
		if (fds[0].revents == 0)
			continue;
		int fd = accept4(fds[0].fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd == -1)
			continue;
		if (count == sizeof(fds) / sizeof(fds[0]))
			(void)close(fd);
		else
			fds[count++] =
				(struct pollfd){ .fd = fd, .events = POLLIN };
	}
}

/*
 * Answers each datagram with the same and the time of the guest's clock in
 * nanoseconds, 8 bytes, most significant first. The clock stands while the
 * guest does: how far it has fallen back tells for how long that was.
 */
static int
run_clock(char **args)
{
	struct sockaddr_in6 addr = {
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)strtol(args[0], NULL, 10)),
	};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd == -1 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1)
		fail("clock");
	for (;;) {
		uint8_t buf[64 + sizeof(uint64_t)];
		struct sockaddr_in6 from;
		socklen_t from_len = sizeof(from);
		struct timespec now;
		ssize_t len = recvfrom(fd, buf, sizeof(buf) - sizeof(uint64_t),
				       0, (struct sockaddr *)&from, &from_len);

		if (len == -1)
			continue;
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		uint64_t ns = (uint64_t)now.tv_sec * 1000000000U +
			      (uint64_t)now.tv_nsec;
		for (int shift = 56; shift >= 0; shift -= 8)
			buf[len++] = (uint8_t)(ns >> shift);
		(void)sendto(fd, buf, (size_t)len, 0, (struct sockaddr *)&from,
			     from_len);
	}
}

static const struct mode {
	const char *name;
	int arg_count;
	int (*run)(char **args);
} modes[] = {
	{ "counter", 1, run_counter },     { "memcheck", 3, run_memcheck },
	{ "diskcheck", 2, run_diskcheck }, { "echo", 1, run_echo },
	{ "clock", 1, run_clock },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc == modes[i].arg_count + 2 &&
		    strcmp(argv[1], modes[i].name) == 0)
			return modes[i].run(argv + 2);
	}
	(void)fprintf(stderr, "guestwork: see the top of guestwork.c\n");
	return 2;
}
