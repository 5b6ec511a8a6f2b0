/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_SCRAPE_H
#define PROXY_SCRAPE_H

/*
 * scrape - answers `GET /metrics` of HTTP, and nothing else.
 *
 * For Prometheus where no handler passes the metrics on. The process that faces
 * the network has no use for a whole HTTP server: a request is read up to the
 * empty line, only its first line is looked at, one answer follows, and the
 * connection ends. Whatever is sent to it costs at most SCRAPE_REQUEST_MAX
 * bytes and SCRAPE_TIMEOUT_MS, for SCRAPE_CONNECTIONS at once; others wait in
 * the queue of the socket.
 *
 * Threading: only from the loop's thread.
 */

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct loop;
struct scrape;

#define SCRAPE_CONNECTIONS 8
#define SCRAPE_REQUEST_MAX 4096
#define SCRAPE_TIMEOUT_MS 5000

/* What a request asks for. */
enum scrape_verdict {
	SCRAPE_INCOMPLETE, /* there is more to come */
	SCRAPE_METRICS,
	SCRAPE_NOT_FOUND,  /* another path */
	SCRAPE_NOT_METHOD, /* another method than GET */
	SCRAPE_BAD,        /* no request of HTTP, or a long one */
	SCRAPE_VERDICT_COUNT,
};

/* The first len bytes of a connection, at most SCRAPE_REQUEST_MAX. */
enum scrape_verdict scrape_judge(const char *data, size_t len);

/*
 * Listens on "ADDRESS:PORT", "[ADDRESS]:PORT" or ":PORT"; an address is one of
 * bindaddr_resolve(), port 0 the kernel's choice. The caller owns *ret_fd.
 */
int scrape_open(const char *text, int *ret_fd, uint16_t *ret_port,
		struct err *err);

struct scrape_config {
	struct loop *loop;
	/* The text; -1 when it does not fit into buf. */
	int (*write)(void *arg, struct buf *buf);
	void *arg;
	size_t text_max; /* bytes */
};

/* Takes the listening socket. */
struct scrape *scrape_new(const struct scrape_config *config, int fd);
/* Connections are cut. NULL is fine. */
void scrape_free(struct scrape *scrape);

#endif
