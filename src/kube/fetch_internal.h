/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_FETCH_INTERNAL_H
#define KUBE_FETCH_INTERNAL_H

/*
 * fetch_internal - what fetch.c (the life of a request) and fetch_setup.c (how
 * libcurl is told what is wanted) share. Private to src/kube.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <curl/curl.h>

#include "base/buf.h"
#include "kube/fetch.h"

LIST_HEAD(fetch_list, fetch);
TAILQ_HEAD(fetch_queue, fetch);

struct fetcher {
	struct loop *loop;
	CURLM *multi;
	struct loop_timer *timer; /* libcurl's */
	struct loop_timer *kick;  /* for what cannot be done from within */
	unsigned inside;          /* libcurl is on the stack */
	struct fetch_list all;
	struct fetch_queue waiting; /* for something only possible outside */
};

struct fetch {
	struct fetcher *fetcher;
	LIST_ENTRY(fetch) all;
	TAILQ_ENTRY(fetch) waiting; /* while is_waiting */
	bool is_waiting;
	CURL *easy;
	bool added;     /* to the multi handle */
	bool cancelled; /* from within libcurl; to be freed outside */
	bool paused;    /* on_data rests */
	bool resting;   /* and libcurl knows */
	bool finished;  /* done is being called */
	bool once;      /* may be sent once only */
	bool sent;      /* and was */

	char *method;
	char *url;
	char *host; /* of the URL */
	struct curl_slist *headers;
	struct curl_slist *connect_to;
	char refusal[128]; /* why it was not even tried; "" */
	char address[64];  /* the last one that was tried */
	char details[CURL_ERROR_SIZE];
	uint64_t deadline_ms;       /* 0: none */
	struct loop_timer *silence; /* until the head; NULL: no limit */
	bool silent;                /* that took too long */

	int code;
	struct fetch_header answer[FETCH_HEADERS_MAX];
	size_t answer_count;
	struct buf lines; /* their text, as offsets until it is complete */
	size_t offsets[FETCH_HEADERS_MAX][2];
	bool head_done;
	bool too_large;
	struct buf body;

	void (*on_head)(const struct fetch_result *head, void *arg);
	void (*on_data)(const void *data, size_t len, void *arg);
	void (*done)(const struct fetch_result *result, void *arg);
	void *arg;
};

/*
 * Gives x->easy all that r asks for, except for the callbacks. What cannot be
 * done is noted in x->refusal.
 */
void fetch_setup(struct fetch *x, const struct fetch_request *r);

#endif
