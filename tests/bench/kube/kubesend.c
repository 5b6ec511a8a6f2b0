/* SPDX-License-Identifier: Apache-2.0 */

/*
 * kubesend - sends requests to an API server as fast as it takes them; how that
 * went is one line of JSON.
 *
 *	kubesend HOST PORT CA CERT KEY CLIENTS <REQUESTS
 *
 * A request is a line of method, path and body with a tab in between. Each
 * client takes the next line when its last request was answered.
 */

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wire.h"
#include "conn.h"

#define CLIENTS_MAX 256
#define NS_PER_S 1000000000ULL

struct request {
	char *line; /* owns the others */
	const char *method, *path, *body;
};

struct work {
	struct conn_context *context;
	struct request *requests;
	size_t count;
	size_t next;   /* atomically */
	size_t errors; /* atomically */
};

static char *
cut_field(char *text)
{
	char *end = strchr(text, '\t');

	if (end == NULL)
		die("a line without three fields: %.80s", text);
	*end = '\0';
	return end + 1;
}

static void
add_request(struct work *work, char *line)
{
	struct request *request;
	char *path, *body;

	work->requests = realloc(work->requests,
				 (work->count + 1) * sizeof(*work->requests));
	if (work->requests == NULL)
		die("out of memory");
	line[strcspn(line, "\n")] = '\0';
	path = cut_field(line);
	body = cut_field(path);
	request = &work->requests[work->count++];
	*request = (struct request){ line, line, path,
				     *body == '\0' ? NULL : body };
}

static void
read_requests(struct work *work)
{
	for (;;) {
		char *line = NULL;
		size_t size = 0;

		if (getline(&line, &size, stdin) == -1) {
			free(line);
			return;
		}
		add_request(work, line);
	}
}

static void *
send_requests(void *arg)
{
	struct work *work = arg;
	struct conn *conn = conn_open(work->context);
	struct reply reply;
	size_t i;

	while ((i = __atomic_fetch_add(&work->next, 1, __ATOMIC_RELAXED)) <
	       work->count) {
		const struct request *request = &work->requests[i];

		conn_request(conn, request->method, request->path,
			     request->body, &reply);
		if (reply.code / 100 != 2 &&
		    __atomic_fetch_add(&work->errors, 1, __ATOMIC_RELAXED) == 0)
			(void)fprintf(stderr, "%s %s: %d %.300s\n",
				      request->method, request->path,
				      reply.code, reply.body);
	}
	conn_close(conn);
	return NULL;
}

int
main(int argc, char **argv)
{
	struct work work = { .next = 0 };
	pthread_t threads[CLIENTS_MAX];
	unsigned long clients;
	uint64_t start;

	if (argc != 7)
		die("usage: kubesend HOST PORT CA CERT KEY CLIENTS <REQUESTS");
	clients = strtoul(argv[6], NULL, 10);
	if (clients == 0 || clients > CLIENTS_MAX)
		die("1 to %d clients", CLIENTS_MAX);
	work.context =
		conn_context_new(argv[1], argv[2], argv[3], argv[4], argv[5]);
	read_requests(&work);
	start = clock_ns();
	for (unsigned long i = 0; i < clients; i++) {
		if (pthread_create(&threads[i], NULL, send_requests, &work) !=
		    0)
			die("cannot start a thread");
	}
	for (unsigned long i = 0; i < clients; i++)
		pthread_join(threads[i], NULL);
	printf("{\"operations\": %zu, \"errors\": %zu, \"seconds\": %.3f}\n",
	       work.count, work.errors,
	       (double)(clock_ns() - start) / (double)NS_PER_S);
	for (size_t i = 0; i < work.count; i++)
		free(work.requests[i].line);
	free(work.requests);
	return 0;
}
