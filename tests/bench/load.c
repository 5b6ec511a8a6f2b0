/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "block.h"
#include "load.h"
#include "sink.h"

#define SAMPLES_MAX 1000000U
#define IDLE_OPENERS 8U

/* One client thread. The main thread starts all and then reads `done`. */
struct client {
	pthread_t thread;
	const struct load *load;
	pthread_barrier_t *ready; /* connected and greeted */
	pthread_barrier_t *go;    /* the clock runs */
	unsigned number;
	bool compare;
	uint64_t done;   /* bytes, or connections */
	uint64_t failed; /* connections only */
};

struct interval {
	uint64_t start_ns;
	uint64_t start_cpu_us;
	double seconds;
	double cpu_seconds;
};

static void
interval_start(struct interval *interval, const struct load *load)
{
	interval->start_cpu_us = cpu_usage_us(load->cpu_path);
	interval->start_ns = clock_ns();
}

static void
interval_stop(struct interval *interval, const struct load *load)
{
	interval->seconds = (double)(clock_ns() - interval->start_ns) / 1e9;
	interval->cpu_seconds = (double)(cpu_usage_us(load->cpu_path) -
					 interval->start_cpu_us) /
				1e6;
}

static int
connect_or_die(const struct load *load)
{
	int fd = address_connect(&load->connect);

	if (fd == -1)
		die("cannot connect: %m");
	if (!greet(fd))
		die("a new connection does not answer: %m");
	return fd;
}

/* The whole block, in pieces of random size. */
static bool
write_in_pieces(int fd, const struct block_header *header, uint64_t *random)
{
	char *block = malloc(BLOCK_SIZE);
	bool written = true;
	size_t at = 0;

	if (block == NULL)
		die("out of memory");
	block_fill(block, header);
	while (at < BLOCK_SIZE && written) {
		size_t piece = 1 + random_next(random) % 100000;

		if (piece > BLOCK_SIZE - at)
			piece = BLOCK_SIZE - at;
		written = write_full(fd, block + at, piece);
		at += piece;
	}
	free(block);
	return written;
}

static void *
send_stream(void *arg)
{
	struct client *client = arg;
	struct block_header header = { .stream = client->number };
	int fd = connect_or_die(client->load);
	uint64_t random = client->number + 1, end, acknowledged = 0;
	bool written;

	pthread_barrier_wait(client->ready);
	pthread_barrier_wait(client->go);

	end = clock_ns() + client->load->time_ns;
	while (!header.is_last) {
		header.is_last = clock_ns() >= end;
		written = client->compare
				  ? write_in_pieces(fd, &header, &random)
				  : block_write(fd, &header);
		if (!written)
			die("stream %u broke off: %m", client->number);
		client->done += BLOCK_SIZE;
		header.sequence++;
	}
	if (!read_full(fd, &acknowledged, sizeof(acknowledged)))
		die("stream %u was not acknowledged", client->number);
	if (acknowledged != client->done)
		die("stream %u: %" PRIu64 " bytes sent, %" PRIu64 " arrived",
		    client->number, client->done, acknowledged);
	close(fd);
	return NULL;
}

static void *
connect_again_and_again(void *arg)
{
	struct client *client = arg;
	uint64_t end;
	int fd;

	pthread_barrier_wait(client->ready);
	pthread_barrier_wait(client->go);

	end = clock_ns() + client->load->time_ns;
	do {
		fd = address_connect(&client->load->connect);
		if (fd != -1 && greet(fd))
			client->done++;
		else
			client->failed++;
		if (fd != -1)
			close(fd);
	} while (clock_ns() < end);
	return NULL;
}

/* Runs one client per stream; the interval is from `go` to the last's end. */
static void
run_clients(const struct load *load, void *(*run)(void *), bool compare,
	    struct client *ret_sum, struct interval *ret_interval)
{
	struct client *clients = calloc(load->streams, sizeof(*clients));
	pthread_barrier_t ready, go;

	if (clients == NULL)
		die("out of memory");
	pthread_barrier_init(&ready, NULL, load->streams + 1);
	pthread_barrier_init(&go, NULL, load->streams + 1);
	for (unsigned i = 0; i < load->streams; i++) {
		clients[i] = (struct client){ .load = load,
					      .ready = &ready,
					      .go = &go,
					      .number = i,
					      .compare = compare };
		if (pthread_create(&clients[i].thread, NULL, run,
				   &clients[i]) != 0)
			die("cannot start a thread");
	}
	pthread_barrier_wait(&ready);
	interval_start(ret_interval, load);
	pthread_barrier_wait(&go);

	*ret_sum = (struct client){ 0 };
	for (unsigned i = 0; i < load->streams; i++) {
		pthread_join(clients[i].thread, NULL);
		ret_sum->done += clients[i].done;
		ret_sum->failed += clients[i].failed;
	}
	interval_stop(ret_interval, load);
	pthread_barrier_destroy(&ready);
	pthread_barrier_destroy(&go);
	free(clients);
}

static void
run_streams(const struct load *load, enum sink_way way)
{
	struct interval interval;
	struct client sum;

	sink_take_streams(load->listen_fd, load->streams, way);
	run_clients(load, send_stream, way == SINK_COMPARES, &sum, &interval);
	printf("{\"streams\": %u, \"bytes\": %" PRIu64
	       ", \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
	       load->streams, sum.done, interval.seconds, interval.cpu_seconds);
}

void
load_throughput(const struct load *load)
{
	run_streams(load, load->reads ? SINK_READS : SINK_DISCARDS);
}

void
load_verify(const struct load *load)
{
	run_streams(load, SINK_COMPARES);
}

void
load_connections(const struct load *load)
{
	struct interval interval;
	struct client sum;

	sink_echo(load->listen_fd);
	run_clients(load, connect_again_and_again, false, &sum, &interval);
	printf("{\"connections\": %" PRIu64 ", \"failed\": %" PRIu64
	       ", \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
	       sum.done, sum.failed, interval.seconds, interval.cpu_seconds);
}

static int
compare_ns(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

void
load_roundtrip(const struct load *load)
{
	uint32_t *samples = malloc(SAMPLES_MAX * sizeof(*samples));
	char sent[LOAD_MESSAGE_MAX] = "round trip", back[LOAD_MESSAGE_MAX];
	struct interval interval;
	uint64_t start, now, end;
	uint32_t p50_ns, p99_ns;
	size_t n = 0;
	int fd;

	if (samples == NULL)
		die("out of memory");
	sink_echo(load->listen_fd);
	fd = connect_or_die(load);
	interval_start(&interval, load);
	now = interval.start_ns;
	end = now + load->time_ns;
	while (now < end && n < SAMPLES_MAX) {
		start = now;
		if (!write_full(fd, sent, load->message) ||
		    !read_full(fd, back, load->message))
			die("no answer after %zu round trips", n);
		now = clock_ns();
		samples[n++] = (uint32_t)(now - start);
	}
	interval_stop(&interval, load);
	close(fd);
	qsort(samples, n, sizeof(*samples), compare_ns);
	p50_ns = samples[n / 2];
	p99_ns = samples[n * 99 / 100];
	printf("{\"count\": %zu, \"size\": %zu, \"p50_us\": %.2f, "
	       "\"p99_us\": %.2f, \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
	       n, load->message, p50_ns / 1e3, p99_ns / 1e3, interval.seconds,
	       interval.cpu_seconds);
	free(samples);
}

struct opener {
	pthread_t thread;
	const struct load *load;
	int *fds;
	unsigned from, to;
};

static void *
open_idle(void *arg)
{
	struct opener *opener = arg;

	for (unsigned i = opener->from; i < opener->to; i++)
		opener->fds[i] = connect_or_die(opener->load);
	return NULL;
}

void
load_idle(const struct load *load)
{
	struct opener openers[IDLE_OPENERS];
	int *fds = calloc(load->count, sizeof(*fds));
	unsigned alive = 0;
	char discard;

	if (fds == NULL)
		die("out of memory");
	sink_echo(load->listen_fd);
	for (unsigned i = 0; i < IDLE_OPENERS; i++) {
		openers[i] = (struct opener){
			.load = load,
			.fds = fds,
			.from = load->count * i / IDLE_OPENERS,
			.to = load->count * (i + 1) / IDLE_OPENERS,
		};
		if (pthread_create(&openers[i].thread, NULL, open_idle,
				   &openers[i]) != 0)
			die("cannot start a thread");
	}
	for (unsigned i = 0; i < IDLE_OPENERS; i++)
		pthread_join(openers[i].thread, NULL);
	alarm(0); /* how long is the caller's business now */
	printf("{\"open\": %u}\n", load->count);
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &discard, 1) > 0)
		;
	alarm(LOAD_GRACE_SECONDS);
	for (unsigned i = 0; i < load->count; i++) {
		if (greet(fds[i]))
			alive++;
		close(fds[i]);
	}
	printf("{\"alive\": %u}\n", alive);
	free(fds);
}
