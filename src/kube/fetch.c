/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "base/mem.h"
#include "kube/fetch_internal.h"
#include "kube/fetch_text.h"

/* All that may be open: to make one anew costs more than a hundred requests. */
#define CONNECTIONS_KEPT CONNECTIONS_MAX
#define CONNECTIONS_MAX 512L
#define US_PER_MS UINT64_C(1000)

/* A descriptor that libcurl wants to have watched. */
struct socket {
	struct fetcher *fetcher;
	int fd;
	struct loop_io *io;
};

static void settle(struct fetcher *f);
static void finish(struct fetch *x, CURLcode code);

static void
wait_for_kick(struct fetch *x)
{
	struct fetcher *f = x->fetcher;

	if (x->is_waiting)
		return;
	x->is_waiting = true;
	TAILQ_INSERT_TAIL(&f->waiting, x, waiting);
	loop_timer_start(f->kick, 0);
}

static void
action(struct fetcher *f, curl_socket_t fd, int what)
{
	int running;

	f->inside++;
	(void)curl_multi_socket_action(f->multi, fd, what, &running);
	f->inside--;
	settle(f);
}

static void
on_ready(unsigned ready, void *arg)
{
	const struct socket *s = arg;

	/* It may be freed from within; nothing of it is used afterwards. */
	action(s->fetcher, s->fd,
	       ready == LOOP_READ ? CURL_CSELECT_IN : CURL_CSELECT_OUT);
}

static void
on_timer(void *arg)
{
	action(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void
on_kick(void *arg)
{
	settle(arg);
}

static int
on_want_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct fetcher *f = arg;

	(void)multi;
	if (timeout_ms < 0)
		loop_timer_stop(f->timer);
	else
		loop_timer_start(f->timer, (uint64_t)timeout_ms * US_PER_MS);
	return 0;
}

static int
on_want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *sock)
{
	struct fetcher *f = arg;
	struct socket *s = sock;
	unsigned want = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s != NULL)
			loop_io_free(s->io);
		free(s);
		(void)curl_multi_assign(f->multi, fd, NULL);
		return 0;
	}
	if (s == NULL) {
		s = xmalloc0(sizeof(*s));
		s->fetcher = f;
		s->fd = fd;
		s->io = loop_io_new(f->loop, fd, on_ready, s);
		(void)curl_multi_assign(f->multi, fd, s);
	}
	if (what != CURL_POLL_OUT)
		want |= LOOP_READ;
	if (what != CURL_POLL_IN)
		want |= LOOP_WRITE;
	loop_io_want(s->io, want);
	return 0;
}

/* libcurl writes to sockets in ways that raise SIGPIPE, and cannot be told. */
static void
ignore_sigpipe(void)
{
	struct sigaction action;

	if (sigaction(SIGPIPE, NULL, &action) == 0 &&
	    action.sa_handler == SIG_DFL)
		(void)signal(SIGPIPE, SIG_IGN);
}

static void
init_curl(void)
{
	ignore_sigpipe();
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort();
}

struct fetcher *
fetcher_new(struct loop *loop)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct fetcher *f = xmalloc0(sizeof(*f));

	(void)pthread_once(&once, init_curl);
	f->loop = loop;
	f->timer = loop_timer_new(loop, on_timer, f);
	f->kick = loop_timer_new(loop, on_kick, f);
	LIST_INIT(&f->all);
	TAILQ_INIT(&f->waiting);
	f->multi = curl_multi_init();
	if (f->multi == NULL)
		abort();
	(void)curl_multi_setopt(f->multi, CURLMOPT_SOCKETFUNCTION,
				on_want_socket);
	(void)curl_multi_setopt(f->multi, CURLMOPT_SOCKETDATA, f);
	(void)curl_multi_setopt(f->multi, CURLMOPT_TIMERFUNCTION,
				on_want_timer);
	(void)curl_multi_setopt(f->multi, CURLMOPT_TIMERDATA, f);
	(void)curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS,
				CONNECTIONS_KEPT);
	(void)curl_multi_setopt(f->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
				CONNECTIONS_MAX);
	return f;
}

static void
fetch_free(struct fetch *x)
{
	LIST_REMOVE(x, all);
	if (x->is_waiting)
		TAILQ_REMOVE(&x->fetcher->waiting, x, waiting);
	if (x->added)
		(void)curl_multi_remove_handle(x->fetcher->multi, x->easy);
	curl_easy_cleanup(x->easy);
	curl_slist_free_all(x->headers);
	curl_slist_free_all(x->connect_to);
	loop_timer_free(x->silence);
	buf_done(&x->lines);
	buf_done(&x->body);
	free(x->method);
	free(x->url);
	free(x->host);
	free(x);
}

void
fetcher_free(struct fetcher *f)
{
	struct fetch *next;

	if (f == NULL)
		return;
	for (struct fetch *x = LIST_FIRST(&f->all); x != NULL; x = next) {
		next = LIST_NEXT(x, all);
		fetch_free(x);
	}
	(void)curl_multi_cleanup(f->multi);
	loop_timer_free(f->timer);
	loop_timer_free(f->kick);
	free(f);
}

static void
fill_result(struct fetch *x, struct fetch_result *ret)
{
	*ret = (struct fetch_result){
		.text = "",
		.cause = "",
		.code = x->code,
		.headers = x->answer,
		/* Before the end of the head they have no place yet. */
		.header_count = x->head_done ? x->answer_count : 0,
		.body = x->body.len > 0 ? (const char *)x->body.data : "",
		.body_len = x->body.len,
	};
}

/* A new status line: what an interim answer said does not count. */
static bool
begin_head(struct fetch *x)
{
	buf_clear(&x->lines);
	x->answer_count = 0;
	x->head_done = false;
	return true;
}

static bool
add_header(struct fetch *x, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	const char *value;
	size_t *offset;

	if (colon == NULL)
		return true;
	if (x->answer_count == FETCH_HEADERS_MAX)
		return false;
	offset = x->offsets[x->answer_count];
	value = colon + 1;
	while (value < line + len && (*value == ' ' || *value == '\t'))
		value++;
	offset[0] = x->lines.len;
	if (buf_append(&x->lines, line, (size_t)(colon - line)) == -1 ||
	    buf_append(&x->lines, "", 1) == -1)
		return false;
	offset[1] = x->lines.len;
	if (buf_append(&x->lines, value, (size_t)(line + len - value)) == -1 ||
	    buf_append(&x->lines, "", 1) == -1)
		return false;
	x->answer_count++;
	return true;
}

static void
end_head(struct fetch *x)
{
	struct fetch_result head;
	long code = 0;

	(void)curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &code);
	if (code < 200)
		return;
	x->code = (int)code;
	x->head_done = true;
	if (x->silence != NULL)
		loop_timer_stop(x->silence);
	for (size_t i = 0; i < x->answer_count; i++) {
		const char *text = (const char *)x->lines.data;

		x->answer[i].name = text + x->offsets[i][0];
		x->answer[i].value = text + x->offsets[i][1];
	}
	if (x->on_head != NULL) {
		fill_result(x, &head);
		x->on_head(&head, x->arg);
	}
}

/* One line with its line end; trailers come here too, and are dropped. */
static size_t
on_header(char *data, size_t size, size_t count, void *arg)
{
	struct fetch *x = arg;
	size_t all = size * count;
	size_t len = all;
	bool good = true;

	if (x->cancelled)
		return 0;
	while (len > 0 && (data[len - 1] == '\n' || data[len - 1] == '\r'))
		len--;
	if (!x->head_done && len >= 5 && memcmp(data, "HTTP/", 5) == 0)
		good = begin_head(x);
	else if (!x->head_done && len > 0)
		good = add_header(x, data, len);
	else if (!x->head_done)
		end_head(x);
	if (!good)
		(void)snprintf(x->details, sizeof(x->details),
			       "net/http: server response headers exceeded "
			       "%lu bytes; aborted",
			       FETCH_HEADER_BYTES_MAX);
	return good && !x->cancelled ? all : 0;
}

static size_t
on_body(char *data, size_t size, size_t count, void *arg)
{
	struct fetch *x = arg;
	size_t len = size * count;

	if (x->cancelled)
		return 0;
	if (x->on_data != NULL) {
		if (x->paused) {
			x->resting = true;
			return CURL_WRITEFUNC_PAUSE;
		}
		x->on_data(data, len, x->arg);
		return x->cancelled ? 0 : len;
	}
	if (buf_append(&x->body, data, len) == -1) {
		x->too_large = true;
		return 0;
	}
	return len;
}

/* Notes where the connection goes, for messages. */
static curl_socket_t
on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	const struct sockaddr *addr = &address->addr;
	struct fetch *x = arg;
	char ip[INET6_ADDRSTRLEN];

	(void)purpose;
	if (addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)addr;

		(void)inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
		(void)snprintf(x->address, sizeof(x->address), "%s:%u", ip,
			       ntohs(in->sin_port));
	} else if (addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)addr;

		(void)inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
		(void)snprintf(x->address, sizeof(x->address), "[%s]:%u", ip,
			       ntohs(in6->sin6_port));
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC,
		      address->protocol);
}

/* Right before the request is sent; a second time if that did not work. The
 * parameters are libcurl's. NOLINTBEGIN(readability-non-const-parameter) */
static int
on_request(void *arg, char *remote, char *local, int remote_port,
	   int local_port)
{
	struct fetch *x = arg;

	(void)remote;
	(void)local;
	(void)remote_port;
	(void)local_port;
	if (x->once && x->sent)
		return CURL_PREREQFUNC_ABORT;
	x->sent = true;
	return CURL_PREREQFUNC_OK;
}
/* NOLINTEND(readability-non-const-parameter) */

/* From the loop: libcurl is not on the stack. */
static void
on_silence(void *arg)
{
	struct fetch *x = arg;

	if (x->cancelled)
		return;
	x->silent = true;
	finish(x, CURLE_OPERATION_TIMEDOUT);
}

static void
set_callbacks(struct fetch *x)
{
	CURL *easy = x->easy;

	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, x);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, x->details);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, x);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
	(void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION,
			       on_open_socket);
	(void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, x);
	(void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request);
	(void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, x);
}

struct fetch *
fetch_start(struct fetcher *f, const struct fetch_request *r,
	    void (*done)(const struct fetch_result *result, void *arg),
	    void *arg)
{
	struct fetch *x = xmalloc0(sizeof(*x));

	x->fetcher = f;
	LIST_INSERT_HEAD(&f->all, x, all);
	x->method = xstrdup(r->method);
	x->url = xstrdup(r->url);
	x->lines = BUF_INIT(FETCH_HEADER_BYTES_MAX);
	x->body = BUF_INIT(r->body_max != 0 ? r->body_max : FETCH_BODY_DEFAULT);
	x->on_head = r->on_head;
	x->on_data = r->on_data;
	x->done = done;
	x->arg = arg;
	x->once = r->once;
	if (r->timeout_ms != 0)
		x->deadline_ms = loop_now_ms() + r->timeout_ms;
	if (r->head_ms != 0) {
		x->silence = loop_timer_new(f->loop, on_silence, x);
		loop_timer_start(x->silence, r->head_ms * US_PER_MS);
	}
	x->easy = curl_easy_init();
	if (x->easy == NULL)
		abort();
	set_callbacks(x);
	fetch_setup(x, r);
	/* It is added from the loop: libcurl cannot be entered twice. */
	wait_for_kick(x);
	return x;
}

void
fetch_cancel(struct fetch *fetch)
{
	if (fetch == NULL || fetch->finished)
		return;
	if (fetch->fetcher->inside == 0) {
		fetch_free(fetch);
		return;
	}
	fetch->cancelled = true;
	wait_for_kick(fetch);
}

void
fetch_pause(struct fetch *fetch, bool pause)
{
	fetch->paused = pause;
	if (!pause && fetch->resting)
		wait_for_kick(fetch);
}

const char *
fetch_header_of(const struct fetch_result *result, const char *name)
{
	for (size_t i = 0; i < result->header_count; i++) {
		if (strcasecmp(result->headers[i].name, name) == 0)
			return result->headers[i].value;
	}
	return NULL;
}

/* Tells how it ended, and frees it. */
static void
finish(struct fetch *x, CURLcode code)
{
	struct fetch_failure failure = {
		.code = code,
		.too_large = x->too_large,
		.silent = x->silent,
		/* libcurl's clock may be a millisecond ahead of ours. */
		.deadline = x->deadline_ms != 0 &&
			    loop_now_ms() + 2 >= x->deadline_ms,
		.address = x->address,
		.host = x->host != NULL ? x->host : "",
		.details = x->details[0] != '\0' ? x->details
						 : curl_easy_strerror(code),
	};
	struct fetch_result result;
	char *cause = NULL;
	char *text = NULL;
	long os_errno = 0;

	fill_result(x, &result);
	if (x->refusal[0] != '\0') {
		result.error = FETCH_OTHER;
		cause = xstrdup(x->refusal);
	} else if (code != CURLE_OK) {
		(void)curl_easy_getinfo(x->easy, CURLINFO_OS_ERRNO, &os_errno);
		(void)curl_easy_getinfo(x->easy, CURLINFO_SSL_VERIFYRESULT,
					&failure.verify_result);
		failure.os_errno = (int)os_errno;
		result.error = fetch_text_cause(&failure, &cause);
	}
	if (cause != NULL) {
		text = fetch_text_whole(x->method, x->url, cause);
		result.cause = cause;
		result.text = text;
	}
	x->finished = true;
	x->done(&result, x->arg);
	free(cause);
	free(text);
	fetch_free(x);
}

/* Those that libcurl is done with, one by one: done may cancel others. */
static void
finish_done(struct fetcher *f)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(f->multi, &left)) != NULL) {
		struct fetch *x = NULL;
		CURLcode code = msg->data.result;

		if (msg->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &x);
		if (x->cancelled)
			fetch_free(x);
		else
			finish(x, code);
	}
}

/* What only works from outside of libcurl. */
static void
help_waiting(struct fetch *x)
{
	struct fetcher *f = x->fetcher;
	bool added = x->added;

	if (x->cancelled) {
		fetch_free(x);
		return;
	}
	if (x->refusal[0] != '\0') {
		finish(x, CURLE_URL_MALFORMAT);
		return;
	}
	f->inside++;
	x->added = true;
	if (!added && curl_multi_add_handle(f->multi, x->easy) != CURLM_OK)
		x->added = false;
	if (added && x->resting && !x->paused) {
		x->resting = false;
		(void)curl_easy_pause(x->easy, CURLPAUSE_CONT);
	}
	f->inside--;
	if (!x->added)
		finish(x, CURLE_FAILED_INIT);
}

static void
settle(struct fetcher *f)
{
	struct fetch *x;

	finish_done(f);
	while ((x = TAILQ_FIRST(&f->waiting)) != NULL) {
		TAILQ_REMOVE(&f->waiting, x, waiting);
		x->is_waiting = false;
		help_waiting(x);
	}
	finish_done(f);
}
