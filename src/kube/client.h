/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H

/*
 * client - requests to one API server.
 *
 * Everything is asynchronous: kube_send() returns at once and done is called
 * from the loop, exactly once unless the call is cancelled. Requests run side
 * by side, on several connections or as streams of one (HTTP/2), up to
 * in_flight; the others wait in order. Their rate is limited by a token bucket.
 *
 * What is tried again, with pauses that grow and within the request's time:
 *   - anything that was refused with 429 or 503 and a Retry-After: the server
 *     says that it has done nothing. Without Retry-After the answer is final
 *     (429 of an eviction, 503 of an APIService).
 *   - anything that did not reach a server: nobody listens, no such name
 *     (unless the client is one that tells at once).
 *   - reads and what is marked repeatable, when the connection broke, and
 *     after 500, 502 and 504.
 * A write whose connection broke, or that was answered with one of these codes,
 * is not repeated, because it may have been done; its result then says
 * `unknown`.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "base/timing.h"
#include "kube/resource.h"
#include "meta/status.h"

struct err;
struct kube_call;
struct kube_client;
struct kube_config;
struct kube_watch;
struct loop;

#define KUBE_TIMEOUT_MS_DEFAULT 30000
#define KUBE_IN_FLIGHT_DEFAULT 64
#define KUBE_QPS_DEFAULT 200
#define KUBE_BURST_DEFAULT 400
#define KUBE_BODY_MAX (64UL * 1024 * 1024) /* of an answer */
#define KUBE_RETRIES_MAX 10
#define KUBE_EVENT_MAX (16UL * 1024 * 1024) /* of a line of a watch */

struct kube_client_options {
	struct loop *loop;
	struct kube_config *config; /* taken */
	const char *user_agent;     /* "ferry-controller/0.1"; copied */
	/* 0 stands for the default. */
	unsigned qps;
	unsigned burst;
	unsigned in_flight;
	unsigned timeout_ms;
	size_t body_max; /* bytes of an answer: KUBE_BODY_MAX */
	/*
	 * Asked right before a write is sent, each time; false fails the write
	 * (status 409). A leader's word that it still is one. NULL: always.
	 */
	bool (*may_write)(void *arg);
	void *may_write_arg;
	/* For people, who wait for the answer: what reaches no server is told
	 * at once and not tried again. */
	bool at_once;
};

struct kube_client *kube_client_new(const struct kube_client_options *options);
/* Forgets what is under way; nobody is called. Not from within a callback.
 * NULL is fine. */
void kube_client_free(struct kube_client *client);

const struct kube_config *kube_client_config(const struct kube_client *client);
struct loop *kube_client_loop(const struct kube_client *client);

enum kube_verb {
	KUBE_GET, /* of a name; without one it is a list */
	KUBE_CREATE,
	KUBE_UPDATE,
	KUBE_PATCH_JSON,
	KUBE_PATCH_MERGE,
	KUBE_PATCH_STRATEGIC,
	KUBE_DELETE, /* of a name; without one a whole collection */
	KUBE_VERB_COUNT,
};

/* All is copied or used up before kube_send() returns. */
struct kube_request {
	enum kube_verb verb;
	const struct kube_resource *resource;
	const char *ns;   /* NULL: all namespaces, or the resource has none */
	const char *name; /* NULL for lists and creation */
	const char *subresource; /* "status"; NULL: none */
	/* Instead of the four above: "/version". Starts with a slash. */
	const char *path;
	const json_t *body; /* borrowed; NULL: none */

	const char *label_selector;
	const char *field_selector;
	const char *resource_version;
	const char *continue_token;
	unsigned limit; /* 0: no pages */
	bool dry_run;
	bool repeatable; /* doing it twice is as doing it once */
	bool always;     /* may_write is not asked */
	/* Goes before all that waits, whatever the rate and in_flight: for what
	 * must not be late because there is much to do. */
	bool urgent;
	/* For all tries together; 0: the client's. Where it is longer, the
	 * answer to a read has to begin within the client's, or another try is
	 * made. */
	unsigned timeout_ms;
};

struct kube_result {
	/* code 0: success. Otherwise why not; for what never was answered the
	 * code is 503, or 504 when the time was up. */
	const struct status *status;
	int code;     /* of HTTP; 0 when there was no answer */
	bool unknown; /* a write that may or may not have been done */
	/* The object or list; NULL when it failed, or the body is no JSON.
	 * Borrowed: whoever keeps it takes a reference. */
	json_t *answer;
	bool too_large; /* the answer was longer than body_max */
};

typedef void kube_done_fn(const struct kube_result *result, void *arg);

/* done may be NULL: nobody asks. */
struct kube_call *kube_send(struct kube_client *client,
			    const struct kube_request *request,
			    kube_done_fn *done, void *arg);
/* Ends it without calling done; what was sent may be done nevertheless. Not
 * after done was called, but within is fine. NULL is fine. */
void kube_cancel(struct kube_call *call);

/* For tests on what a result means. */
bool kube_is_not_found(const struct kube_result *result);
bool kube_is_conflict(const struct kube_result *result); /* changed */
bool kube_is_already_exists(const struct kube_result *result);
bool kube_is_expired(const struct kube_result *result); /* 410: list again */

/* DeleteOptions. uid and propagation may be NULL, grace_s negative: not said.
 * A new reference. */
json_t *kube_delete_options(const char *uid, const char *propagation,
			    int grace_s);

/*
 * One watch, until it ends by itself or is cancelled. It neither waits for the
 * rate nor counts as in flight. event is called for each change with its type
 * ("ADDED", "MODIFIED", "DELETED", "BOOKMARK") and object, borrowed. ended is
 * called once, with code 0 when the server ended it in order, or why not: a 410
 * means that the resource version is too old, a 504 that the server has not
 * begun to answer within the client's timeout_ms. Either may cancel.
 */
struct kube_watch_request {
	const struct kube_resource *resource;
	const char *ns;
	const char *label_selector;
	const char *field_selector;
	const char *resource_version;
	unsigned timeout_s; /* asked of the server, guarded here; not 0 */
	void (*event)(const char *type, json_t *object, void *arg);
	void (*ended)(const struct status *status, void *arg);
	void *arg;
};

struct kube_watch *kube_watch_start(struct kube_client *client,
				    const struct kube_watch_request *request);
/* Nobody is called any more. Not after ended, but within; NULL is fine. */
void kube_watch_cancel(struct kube_watch *watch);

struct kube_client_stats {
	uint64_t requests; /* that came to an end, however */
	uint64_t writes;   /* of these */
	uint64_t failed;   /* of all */
	uint64_t tries;    /* sent, the repeated ones too */
	uint64_t conflicts;
	uint64_t throttled;    /* tries that had to wait for the rate */
	uint64_t unknown;      /* writes that may have been done */
	uint64_t events;       /* of watches */
	unsigned waiting;      /* now */
	unsigned in_flight;    /* now */
	unsigned watches;      /* now */
	struct timing latency; /* from kube_send() to done */
};

const struct kube_client_stats *
kube_client_stats(const struct kube_client *client);

#endif
