/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_CLIENT_INTERNAL_H
#define KUBE_CLIENT_INTERNAL_H

/*
 * client_internal - what client.c (calls) and watch.c (watches) share. Private
 * to src/kube.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "kube/client.h"
#include "kube/fetch.h"

#define KUBE_HEADERS_MAX 4

TAILQ_HEAD(kube_calls, kube_call);
LIST_HEAD(kube_watches, kube_watch);

struct kube_client {
	struct loop *loop;
	struct fetcher *fetcher;
	struct kube_config *config;
	char *user_agent;
	unsigned qps;
	unsigned burst;
	unsigned in_flight;
	unsigned timeout_ms;
	size_t body_max;
	bool (*may_write)(void *arg);
	void *may_write_arg;
	bool at_once;

	struct kube_calls waiting; /* for their turn, in order */
	struct kube_calls others;  /* sent, or pausing before another try */
	struct kube_watches watches;
	struct loop_timer *pump; /* sends what waits */
	double tokens;           /* of the rate */
	uint64_t tokens_ns;      /* when they were counted */
	struct kube_client_stats stats;
};

/* A request as it goes out: what points into the client's own. */
struct kube_wire {
	struct fetch_request fetch;
	struct fetch_header headers[KUBE_HEADERS_MAX];
	char *authorization;
};

/* Credentials as they are now, and the headers; content_type may be NULL. */
void kube_wire_begin(struct kube_wire *wire, struct kube_client *client,
		     const char *content_type);
void kube_wire_done(struct kube_wire *wire);

/* What an answer that is no success says. Always -1. */
int kube_status_of_answer(struct status *st, int code,
			  const struct fetch_result *result, const char *body,
			  size_t body_len);
/* What a request that was not answered says. Always -1. */
int kube_status_of_failure(struct status *st,
			   const struct fetch_result *result);

/* Cancels all; the client is being freed. */
void kube_watches_free(struct kube_client *client);

#endif
