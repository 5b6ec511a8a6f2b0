/* SPDX-License-Identifier: Apache-2.0 */

/*
 * streamer - random streams through a pair of proxies, compared end to end.
 *
 *	streamer IN OUT STREAMS AT-ONCE MOST-BYTES SEED
 *
 * Connects STREAMS times to the unix socket IN, AT-ONCE of them at a time, and
 * accepts what arrives on the unix socket OUT, which it makes. Both ends of a
 * stream send random bytes in random pieces, read in random pieces, and
 * half-close whenever they are done, in whatever order that happens; some read
 * nothing until they have sent everything. What arrives must be what was sent,
 * to the byte, followed by an end. Everything follows from SEED.
 *
 * The first eight bytes of a stream are its number, so that the accepting end
 * knows what to expect. Prints one line of JSON; exits 1 at the first
 * difference, and when nothing has moved for a minute.
 */

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define STALL_MS 60000
#define PIECE_MOST 65536

/* xorshift64*: fast, and the same on both ends. */
struct random {
	uint64_t state;
};

/* One end of a stream. */
struct end {
	int fd;
	uint64_t number;
	bool known; /* the number has been read or chosen */
	uint8_t head[8];
	size_t head_len;
	struct random send, expect, pieces;
	uint64_t to_send, sent;
	uint64_t to_get, got;
	bool shut, ended;
	bool send_first; /* reads nothing before all is sent */
};

static uint64_t seed, most;
static uint64_t total_bytes;

static uint64_t
next(struct random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * UINT64_C(2685821657736338717);
}

static struct random
seeded(uint64_t number, uint64_t purpose)
{
	struct random random = { (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
				 (number * 16 + purpose + 1) *
					 UINT64_C(0xbf58476d1ce4e5b9) };

	for (int i = 0; i < 4; i++)
		(void)next(&random);
	return random;
}

static void
die(const char *what, uint64_t number)
{
	(void)fprintf(stderr, "streamer: stream %llu, seed %llu: %s (%s)\n",
		      (unsigned long long)number, (unsigned long long)seed,
		      what, strerror(errno));
	exit(1);
}

/* Small streams are the most common, empty ones happen. */
static uint64_t
length(struct random *random)
{
	uint64_t bound = most >> (next(random) % 12);

	return bound == 0 ? 0 : next(random) % bound;
}

/* Purposes: 0 client's bytes, 1 server's bytes, 2 lengths, 3/4 pieces. */
static void
learn(struct end *end, uint64_t number, bool client)
{
	struct random lengths = seeded(number, 2);
	uint64_t up = length(&lengths), down = length(&lengths);

	end->number = number;
	end->known = true;
	end->send = seeded(number, client ? 0 : 1);
	end->expect = seeded(number, client ? 1 : 0);
	end->pieces = seeded(number, client ? 3 : 4);
	end->to_send = client ? up : down;
	end->to_get = client ? down : up;
	end->send_first = next(&end->pieces) % 8 == 0 && end->to_send < 65536;
	if (client) {
		for (int i = 0; i < 8; i++)
			end->head[i] = (uint8_t)(number >> (8 * i));
	}
}

static void
fill(struct random *random, uint8_t *data, size_t len)
{
	/* The state advances per byte: pieces may be cut anywhere. */
	for (size_t i = 0; i < len; i++) {
		random->state = random->state * UINT64_C(6364136223846793005) +
				UINT64_C(1442695040888963407);
		data[i] = (uint8_t)(random->state >> 56);
	}
}

static size_t
piece(struct end *end)
{
	return 1 + next(&end->pieces) % (1U << (next(&end->pieces) % 17));
}

static bool
write_some(struct end *end)
{
	static uint8_t data[PIECE_MOST];
	struct random before = end->send;
	size_t len = piece(end);
	ssize_t n;

	if (end->sent == end->to_send) {
		if (!end->shut && shutdown(end->fd, SHUT_WR) == -1)
			die("shutdown", end->number);
		end->shut = true;
		return true;
	}
	if (len > PIECE_MOST)
		len = PIECE_MOST;
	if (len > end->to_send - end->sent)
		len = (size_t)(end->to_send - end->sent);
	fill(&end->send, data, len);
	n = send(end->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n == -1) {
		if (errno != EAGAIN)
			die("send", end->number);
		n = 0;
	}
	/* What was not taken is made again. */
	end->send = before;
	fill(&end->send, data, (size_t)n);
	end->sent += (uint64_t)n;
	return n > 0;
}

static bool
read_some(struct end *end)
{
	static uint8_t data[PIECE_MOST], want[PIECE_MOST];
	size_t len = piece(end);
	ssize_t n;

	if (len > PIECE_MOST)
		len = PIECE_MOST;
	n = recv(end->fd, data, len, MSG_DONTWAIT);
	if (n == -1) {
		if (errno != EAGAIN)
			die("recv", end->number);
		return false;
	}
	if (n == 0) {
		if (end->got != end->to_get)
			die("the end came too early", end->number);
		end->ended = true;
		return true;
	}
	if ((uint64_t)n > end->to_get - end->got)
		die("more came than was sent", end->number);
	fill(&end->expect, want, (size_t)n);
	if (memcmp(data, want, (size_t)n) != 0)
		die("other bytes came than were sent", end->number);
	end->got += (uint64_t)n;
	total_bytes += (uint64_t)n;
	return true;
}

/* The accepting end learns which stream it is. */
static bool
read_head(struct end *end)
{
	ssize_t n = recv(end->fd, end->head + end->head_len,
			 sizeof(end->head) - end->head_len, MSG_DONTWAIT);
	uint64_t number = 0;

	if (n == -1 && errno == EAGAIN)
		return false;
	if (n <= 0)
		die("no number came", 0);
	end->head_len += (size_t)n;
	if (end->head_len == sizeof(end->head)) {
		for (int i = 0; i < 8; i++)
			number |= (uint64_t)end->head[i] << (8 * i);
		learn(end, number, false);
	}
	return true;
}

/* Returns whether anything moved. */
static bool
step(struct end *end, short ready)
{
	bool moved = false;

	if (!end->known)
		return (ready & (POLLIN | POLLHUP)) && read_head(end);
	if (!end->shut && (ready & POLLOUT))
		moved |= write_some(end);
	if (!end->ended && (ready & (POLLIN | POLLHUP)) &&
	    !(end->send_first && !end->shut))
		moved |= read_some(end);
	return moved;
}

static short
wanted(const struct end *end)
{
	short events = 0;

	if (!end->known)
		return POLLIN;
	if (!end->shut)
		events |= POLLOUT;
	if (!end->ended && !(end->send_first && !end->shut))
		events |= POLLIN;
	return events;
}

static struct sockaddr_un
address(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(addr.sun_path))
		die("path too long", 0);
	memcpy(addr.sun_path, path, strlen(path));
	return addr;
}

static int
listen_on(const char *path)
{
	struct sockaddr_un addr = address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd == -1 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1 ||
	    chmod(path, 0666) == -1 || listen(fd, 128) == -1)
		die("cannot listen", 0);
	return fd;
}

static void
open_stream(struct end *end, const char *path, uint64_t number)
{
	struct sockaddr_un addr = address(path);

	*end = (struct end){ .fd = socket(AF_UNIX, SOCK_STREAM, 0) };
	if (end->fd == -1 ||
	    connect(end->fd, (struct sockaddr *)&addr, sizeof(addr)) == -1)
		die("cannot connect", number);
	learn(end, number, true);
	if (send(end->fd, end->head, sizeof(end->head), MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(end->head))
		die("send", number);
}

static long
now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

struct run {
	const char *in;
	int listening;
	uint64_t streams, opened, closed;
	size_t at_once, count;
	struct end *ends;
	struct pollfd *polls;
};

/* Drops ends that are done; keeps the rest together. */
static void
sweep(struct run *run)
{
	for (size_t i = 0; i < run->count;) {
		struct end *end = &run->ends[i];

		if (!end->known || !end->shut || !end->ended) {
			i++;
			continue;
		}
		(void)close(end->fd);
		run->closed++;
		*end = run->ends[--run->count];
	}
}

static bool
turn(struct run *run)
{
	size_t n = run->count;
	bool moved = false;

	for (size_t i = 0; i < n; i++)
		run->polls[i] =
			(struct pollfd){ .fd = run->ends[i].fd,
					 .events = wanted(&run->ends[i]) };
	run->polls[n] =
		(struct pollfd){ .fd = run->listening, .events = POLLIN };
	if (poll(run->polls, n + 1, 1000) == -1)
		die("poll", 0);
	for (size_t i = 0; i < n; i++)
		moved |= step(&run->ends[i], run->polls[i].revents);
	if (run->polls[n].revents & POLLIN) {
		int fd = accept(run->listening, NULL, NULL);

		if (fd == -1)
			die("accept", 0);
		run->ends[run->count++] = (struct end){ .fd = fd };
		moved = true;
	}
	return moved;
}

static void
all_streams(struct run *run)
{
	long moved_at = now_ms();

	while (run->closed < 2 * run->streams) {
		while (run->opened < run->streams &&
		       run->opened * 2 < run->closed + 2 * run->at_once)
			open_stream(&run->ends[run->count++], run->in,
				    run->opened++);
		if (turn(run))
			moved_at = now_ms();
		else if (now_ms() - moved_at > STALL_MS)
			die("nothing moves any more", run->closed / 2);
		sweep(run);
	}
}

int
main(int argc, char **argv)
{
	struct run run = { 0 };

	if (argc != 7) {
		(void)fprintf(stderr, "usage: streamer IN OUT STREAMS AT-ONCE "
				      "MOST-BYTES SEED\n");
		return 2;
	}
	run.in = argv[1];
	run.listening = listen_on(argv[2]);
	run.streams = strtoull(argv[3], NULL, 10);
	run.at_once = strtoull(argv[4], NULL, 10);
	most = strtoull(argv[5], NULL, 10);
	seed = strtoull(argv[6], NULL, 10);
	run.ends = calloc(4 * run.at_once + 4, sizeof(*run.ends));
	run.polls = calloc(4 * run.at_once + 5, sizeof(*run.polls));
	if (run.ends == NULL || run.polls == NULL)
		die("no memory", 0);
	all_streams(&run);
	(void)printf("{\"streams\": %llu, \"bytes\": %llu}\n",
		     (unsigned long long)run.streams,
		     (unsigned long long)total_bytes);
	free(run.ends);
	free(run.polls);
	(void)close(run.listening);
	(void)unlink(argv[2]);
	return 0;
}
