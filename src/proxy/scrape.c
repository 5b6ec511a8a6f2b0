/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/scrape.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "proxy/bindaddr.h"
#include "proxy/tcplisten.h"

#define US_PER_MS 1000ULL
#define HEAD_MAX 256
#define PAUSE_MS 100 /* when there are no descriptors left */

/* A connection: reads, then writes, then waits for the other side's end. */
struct visit {
	TAILQ_ENTRY(visit) entry;
	struct scrape *scrape;
	int fd;
	struct loop_io *io;
	struct loop_timer *timer;
	char in[SCRAPE_REQUEST_MAX];
	size_t in_len;
	bool answered;
	struct buf out;
};

TAILQ_HEAD(visit_list, visit);

struct scrape {
	struct scrape_config config;
	int fd;
	struct loop_io *io;
	struct loop_timer *pause;
	struct visit_list visits;
	size_t count;
};

static const char *const status_lines[] = {
	[SCRAPE_INCOMPLETE] = "",
	[SCRAPE_METRICS] = "200 OK",
	[SCRAPE_NOT_FOUND] = "404 Not Found",
	[SCRAPE_NOT_METHOD] = "405 Method Not Allowed",
	[SCRAPE_BAD] = "400 Bad Request",
};
static_assert(ARRAY_LEN(status_lines) == SCRAPE_VERDICT_COUNT,
	      "a verdict has no status");

static bool
begins(const char *data, size_t len, const char *with)
{
	return len >= strlen(with) && memcmp(data, with, strlen(with)) == 0;
}

enum scrape_verdict
scrape_judge(const char *data, size_t len)
{
	static const char get[] = "GET ", path[] = "/metrics";
	const char *eol = memmem(data, len, "\r\n", 2);
	const char *version;
	size_t line;

	if (memmem(data, len, "\r\n\r\n", 4) == NULL)
		return len < SCRAPE_REQUEST_MAX ? SCRAPE_INCOMPLETE
						: SCRAPE_BAD;
	line = (size_t)(eol - data);
	version = memmem(data, line, " HTTP/1.", 8);
	if (version == NULL)
		return SCRAPE_BAD;
	if (!begins(data, line, get))
		return SCRAPE_NOT_METHOD;
	data += strlen(get);
	line = (size_t)(eol - data);
	if (!begins(data, line, path))
		return SCRAPE_NOT_FOUND;
	data += strlen(path);
	return *data == ' ' || *data == '?' ? SCRAPE_METRICS : SCRAPE_NOT_FOUND;
}

int
scrape_open(const char *text, int *ret_fd, uint16_t *ret_port, struct err *err)
{
	const char *colon = strrchr(text, ':');
	AUTO(free_ptr) char *host = NULL;
	struct tcplisten_range range;
	struct bindaddr address;
	uint64_t port;
	size_t len;

	if (colon == NULL)
		return err_set(err, ERR_INVALID, "'%.80s' has no port", text);
	if (str_to_u64(colon + 1, "port", 0, UINT16_MAX, &port, err) == -1)
		return -1;
	len = (size_t)(colon - text);
	if (len > 1 && text[0] == '[' && colon[-1] == ']')
		host = xstrndup(text + 1, len - 2);
	else
		host = xstrndup(text, len);
	range = (struct tcplisten_range){ (uint16_t)port, (uint16_t)port };
	if (bindaddr_resolve(host, &address, err) == -1)
		return -1;
	return tcplisten_open(&address, &range, ret_fd, ret_port, err);
}

/* Those that wait in the queue of the socket come when there is room. */
static void
update_accept(struct scrape *scrape)
{
	loop_io_want(scrape->io,
		     scrape->count < SCRAPE_CONNECTIONS ? LOOP_READ : 0);
}

static void
pause_over(void *arg)
{
	update_accept(arg);
}

static void
visit_free(struct visit *visit)
{
	TAILQ_REMOVE(&visit->scrape->visits, visit, entry);
	visit->scrape->count--;
	loop_io_free(visit->io);
	loop_timer_free(visit->timer);
	buf_done(&visit->out);
	(void)close(visit->fd);
	free(visit);
}

static void
visit_end(struct visit *visit)
{
	struct scrape *scrape = visit->scrape;

	visit_free(visit);
	update_accept(scrape);
}

static void
visit_late(void *arg)
{
	visit_end(arg);
}

static void
done_buf(struct buf *buf)
{
	buf_done(buf);
}

/* Head and body; what does not fit becomes an error of the server. */
static void
answer(struct visit *visit, enum scrape_verdict verdict)
{
	const struct scrape_config *config = &visit->scrape->config;
	AUTO(done_buf) struct buf text = BUF_INIT(config->text_max);
	const char *status = status_lines[verdict];

	if (verdict == SCRAPE_METRICS &&
	    config->write(config->arg, &text) == -1) {
		buf_clear(&text);
		status = "500 Internal Server Error";
	}
	visit->out = BUF_INIT(HEAD_MAX + text.len);
	(void)buf_printf(&visit->out,
			 "HTTP/1.1 %s\r\n"
			 "Content-Type: text/plain; version=0.0.4\r\n"
			 "Content-Length: %zu\r\n"
			 "%sConnection: close\r\n\r\n",
			 status, text.len,
			 verdict == SCRAPE_NOT_METHOD ? "Allow: GET\r\n" : "");
	(void)buf_append(&visit->out, text.data, text.len);
	visit->answered = true;
	loop_io_want(visit->io, LOOP_WRITE);
}

/* Reads the request, or after the answer whatever, until the end. */
static void
readable(struct visit *visit)
{
	char rest[512];
	char *to = visit->answered ? rest : visit->in + visit->in_len;
	size_t room = visit->answered ? sizeof(rest)
				      : sizeof(visit->in) - visit->in_len;
	ssize_t n = recv(visit->fd, to, room, 0);
	enum scrape_verdict verdict;

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		visit_end(visit);
		return;
	}
	if (visit->answered)
		return;
	visit->in_len += (size_t)n;
	verdict = scrape_judge(visit->in, visit->in_len);
	if (verdict != SCRAPE_INCOMPLETE)
		answer(visit, verdict);
}

static void
writable(struct visit *visit)
{
	ssize_t n =
		send(visit->fd, visit->out.data, visit->out.len, MSG_NOSIGNAL);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == -1) {
		visit_end(visit);
		return;
	}
	buf_consume(&visit->out, (size_t)n);
	if (visit->out.len > 0)
		return;
	/* To close now could take away what the other side has not read. */
	(void)shutdown(visit->fd, SHUT_WR);
	loop_io_want(visit->io, LOOP_READ);
}

static void
visit_ready(unsigned events, void *arg)
{
	if (events & LOOP_WRITE)
		writable(arg);
	else
		readable(arg);
}

static void
accept_ready(unsigned events, void *arg)
{
	struct scrape *scrape = arg;
	struct visit *visit;
	int fd = accept4(scrape->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd == -1) {
		if (errno != EAGAIN && errno != EINTR &&
		    errno != ECONNABORTED) {
			loop_io_want(scrape->io, 0);
			loop_timer_start(scrape->pause, PAUSE_MS * US_PER_MS);
		}
		return;
	}
	visit = xmalloc0(sizeof(*visit));
	visit->scrape = scrape;
	visit->fd = fd;
	visit->out = BUF_INIT(0);
	visit->io = loop_io_new(scrape->config.loop, fd, visit_ready, visit);
	visit->timer = loop_timer_new(scrape->config.loop, visit_late, visit);
	loop_io_want(visit->io, LOOP_READ);
	loop_timer_start(visit->timer, SCRAPE_TIMEOUT_MS * US_PER_MS);
	TAILQ_INSERT_TAIL(&scrape->visits, visit, entry);
	scrape->count++;
	update_accept(scrape);
}

struct scrape *
scrape_new(const struct scrape_config *config, int fd)
{
	struct scrape *scrape = xmalloc0(sizeof(*scrape));

	scrape->config = *config;
	scrape->fd = fd;
	TAILQ_INIT(&scrape->visits);
	scrape->io = loop_io_new(config->loop, fd, accept_ready, scrape);
	scrape->pause = loop_timer_new(config->loop, pause_over, scrape);
	update_accept(scrape);
	return scrape;
}

void
scrape_free(struct scrape *scrape)
{
	struct visit *visit;

	if (scrape == NULL)
		return;
	while ((visit = TAILQ_FIRST(&scrape->visits)) != NULL)
		visit_free(visit);
	loop_timer_free(scrape->pause);
	loop_io_free(scrape->io);
	(void)close(scrape->fd);
	free(scrape);
}
