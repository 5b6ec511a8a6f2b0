/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_FETCH_H
#define KUBE_FETCH_H

/*
 * fetch - an HTTP(S) client on the loop.
 *
 * HTTP/2 where the server offers it; connections are kept and used again. The
 * environment's proxies and redirections are not followed. Errors read as
 * those of Kubernetes' own client do.
 *
 * The first fetcher makes the process ignore SIGPIPE, unless it has other
 * plans.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct fetch;
struct fetch_result;
struct fetcher;
struct loop;

#define FETCH_BODY_DEFAULT (16UL * 1024 * 1024)
#define FETCH_HEADERS_MAX 128
#define FETCH_HEADER_BYTES_MAX (64UL * 1024)

struct fetch_header {
	const char *name;
	const char *value;
};

/* All texts and bytes are copied. */
struct fetch_request {
	const char *method; /* "GET", "POST", ... */
	const char *url;    /* http:// or https:// */
	const struct fetch_header *headers;
	size_t header_count;
	const void *body;
	size_t body_len;
	/*
	 * Connects there instead of to the URL's host, "192.0.2.1:8443" or
	 * "[2001:db8::1]:8443"; certificate and Host stay those of the URL.
	 */
	const char *connect_to;
	const char *ca_pem;   /* NULL: the CAs of the system */
	const char *cert_pem; /* client certificate, or NULL */
	const char *key_pem;  /* its key, or NULL */
	const char *tls_name; /* in the certificate instead of the URL's host */
	bool insecure;        /* the certificate is not looked at */
	/*
	 * Never sent a second time. Otherwise a request that was sent on a kept
	 * connection, which then turned out to be closed, goes out again.
	 */
	bool once;
	/* Waits for a connection that is being made, in case that it can carry
	 * several requests at once (HTTP/2). */
	bool share;
	unsigned timeout_ms; /* for all of it; 0: no limit */
	unsigned connect_ms; /* for connection and handshake; 0: 10 s */
	/* Until the answer's head is there, what takes long after that aside;
	 * 0: no limit of its own. */
	unsigned head_ms;
	size_t body_max; /* of the answer; 0: FETCH_BODY_DEFAULT */
	/*
	 * Streaming: the answer's head, then each piece of its body as it
	 * comes. The result then has no body and body_max does not count.
	 * Either may be NULL; fetch_cancel() is allowed inside.
	 */
	void (*on_head)(const struct fetch_result *head, void *arg);
	void (*on_data)(const void *data, size_t len, void *arg);
};

enum fetch_error {
	FETCH_OK,        /* there is an answer, whatever its code */
	FETCH_TIMEOUT,   /* timeout_ms, connect_ms or head_ms passed */
	FETCH_REFUSED,   /* nobody listens there, or no way to get there */
	FETCH_RESOLVE,   /* the name is not known */
	FETCH_TLS,       /* handshake or certificate */
	FETCH_TOO_LARGE, /* the body is longer than body_max */
	FETCH_OTHER,     /* the connection broke, or it was no HTTP */
	FETCH_ERROR_COUNT,
};

struct fetch_result {
	enum fetch_error error;
	/*
	 * As net/http prints it: Post "https://h:1/p": context deadline
	 * exceeded; without the part before the colon in cause. "" if OK.
	 */
	const char *text;
	const char *cause;
	int code; /* 0 where there was no answer */
	const struct fetch_header *headers;
	size_t header_count;
	const char *body; /* followed by a NUL; never NULL */
	size_t body_len;
};

struct fetcher *fetcher_new(struct loop *loop);
/* Cancels what is under way. Not from within a callback; NULL is fine. */
void fetcher_free(struct fetcher *fetcher);

/*
 * Starts; done is called exactly once, from the loop and never from within,
 * unless it is cancelled before. The result is valid during the call, and the
 * fetch is gone afterwards. A request that cannot be made (a URL that is none)
 * is reported in the same way.
 */
struct fetch *
fetch_start(struct fetcher *fetcher, const struct fetch_request *request,
	    void (*done)(const struct fetch_result *result, void *arg),
	    void *arg);
/* Ends it without calling done. Not after done has returned; NULL is fine. On
 * a connection that others share (HTTP/2) libcurl tells the server when there
 * is something else to send. */
void fetch_cancel(struct fetch *fetch);

/* Stops and restarts on_data(), for a reader that cannot take more. */
void fetch_pause(struct fetch *fetch, bool pause);

/* The first header of that name, without regard to case; NULL if none. */
const char *fetch_header_of(const struct fetch_result *result,
			    const char *name);

#endif
