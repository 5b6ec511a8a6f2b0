/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "http/listen.h"
#include "http/server.h"
#include "kubelet/kubelet.h"
#include "kubelet/logread.h"
#include "kubelet/pod.h"
#include "kubelet/pods.h"
#include "meta/time.h"

#define PEM_MAX (1024UL * 1024)
#define QUERY_VALUE_MAX 64
#define ADMIN_GROUP "system:masters"
/* What a slow client may leave with us. */
#define BACKLOG_HIGH (256 * 1024)
#define BACKLOG_LOW (64 * 1024)
#define OUT_MAX (1024UL * 1024)
/* How often a log that is followed is looked at. */
#define FOLLOW_US (200UL * 1000)
#define NS_PER_US 1000
#define NS_PER_S INT64_C(1000000000)

struct logs {
	struct kubelet *kubelet;
	const struct pods *pods;
	struct http_server *server;
	struct follower *first;
};

/* One answer that is being written. */
struct follower {
	struct logs *logs;
	struct follower *prev, *next;
	struct http_request *req;
	struct logread *read;
	struct loop_timer *timer;
	char *uid, *ns, *pod, *container;
	unsigned attempt;
	bool follow;
};

static void reply_text(struct http_request *req, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void
reply_text(struct http_request *req, int code, const char *fmt, ...)
{
	static const struct http_header type = { "Content-Type", "text/plain" };
	AUTO(free_ptr) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	http_reply(req, code, &type, 1, text, strlen(text));
}

/* The value of a member of the query, decoded; false when it is not there. */
static bool
query_get(const char *query, const char *name, char value[QUERY_VALUE_MAX])
{
	size_t len = strlen(name), n = 0;

	while (*query != '\0' &&
	       !(strncmp(query, name, len) == 0 && query[len] == '=')) {
		query += strcspn(query, "&");
		query += *query == '&';
	}
	if (*query == '\0')
		return false;
	for (query += len + 1; *query != '\0' && *query != '&'; query++) {
		char c = *query;

		if (c == '%' && str_hex_digit(query[1]) >= 0 &&
		    str_hex_digit(query[2]) >= 0) {
			c = (char)(str_hex_digit(query[1]) * 16 +
				   str_hex_digit(query[2]));
			query += 2;
		}
		if (n + 1 >= QUERY_VALUE_MAX)
			return false;
		value[n++] = c;
	}
	value[n] = '\0';
	return true;
}

static int64_t
query_number(const char *query, const char *name, int64_t otherwise)
{
	char value[QUERY_VALUE_MAX];
	struct err ignored;
	uint64_t number;

	if (!query_get(query, name, value) ||
	    str_to_u64(value, name, 0, INT64_MAX, &number, &ignored) == -1)
		return otherwise;
	return (int64_t)number;
}

static bool
query_flag(const char *query, const char *name)
{
	char value[QUERY_VALUE_MAX];

	return query_get(query, name, value) &&
	       (str_equal(value, "true") || str_equal(value, "1"));
}

static int64_t
since(const char *query)
{
	char value[QUERY_VALUE_MAX];
	int64_t seconds = query_number(query, "sinceSeconds", -1);
	struct err ignored;
	int64_t us;

	if (seconds >= 0)
		return time_now_us() * NS_PER_US - seconds * NS_PER_S;
	if (query_get(query, "sinceTime", value) &&
	    time_parse(value, &us, &ignored) == 0)
		return us * NS_PER_US;
	return 0;
}

static void
follower_free(struct follower *f)
{
	if (f->prev != NULL)
		f->prev->next = f->next;
	else
		f->logs->first = f->next;
	if (f->next != NULL)
		f->next->prev = f->prev;
	loop_timer_free(f->timer);
	logread_free(f->read);
	free(f->uid);
	free(f->ns);
	free(f->pod);
	free(f->container);
	free(f);
}

static void
on_close(struct http_request *req, void *arg)
{
	follower_free(arg);
	http_stream_abort(req);
}

static void
end(struct follower *f)
{
	struct http_request *req = f->req;

	http_on_close(req, NULL, NULL);
	follower_free(f);
	http_stream_end(req);
}

static struct container *
find_container(struct pod *pod, const char *name)
{
	for (size_t i = 0; pod != NULL && i < pod->count; i++) {
		if (str_equal(pod->containers[i].name, name))
			return &pod->containers[i];
	}
	return NULL;
}

/* Whether this very start of the container may still write something. */
static bool
goes_on(const struct follower *f)
{
	struct pod *pod = pods_find(f->logs->pods, f->ns, f->pod);
	struct container *c;

	if (pod == NULL || !str_equal(pod->uid, f->uid) || pod->gone)
		return false;
	c = find_container(pod, f->container);
	if (c == NULL || c->attempt != f->attempt)
		return false;
	return c->phase == CONTAINER_RUNNING ||
	       c->phase == CONTAINER_STARTING || c->phase == CONTAINER_LOST;
}

static void on_drain(struct http_request *req, void *arg);

static void
pump(void *arg)
{
	struct follower *f = arg;
	bool over = false, more = true;
	/* Looked at before the last bytes are read, which came before. */
	bool on = f->follow && goes_on(f);

	while (more && !over) {
		AUTO(buf_done) struct buf out = BUF_INIT(OUT_MAX);

		if (http_stream_backlog(f->req) > BACKLOG_HIGH) {
			http_stream_on_drain(f->req, BACKLOG_LOW, on_drain, f);
			return;
		}
		more = logread_more(f->read, &out, &over);
		if (out.len > 0)
			http_stream_write(f->req, out.data, out.len);
	}
	if (over || !on)
		end(f);
	else
		loop_timer_start(f->timer, FOLLOW_US);
}

static void
on_drain(struct http_request *req, void *arg)
{
	(void)req;
	pump(arg);
}

static void
stream(struct logs *logs, struct http_request *req, const struct pod *pod,
       const struct container *c, unsigned attempt)
{
	static const struct http_header type = { "Content-Type", "text/plain" };
	struct follower *f = xmalloc0(sizeof(*f));
	AUTO(free_ptr) char *dir = container_dir(pod->dir, c->name, attempt);

	f->logs = logs;
	f->req = req;
	f->uid = xstrdup(pod->uid);
	f->ns = xstrdup(pod->ns);
	f->pod = xstrdup(pod->name);
	f->container = xstrdup(c->name);
	f->attempt = attempt;
	f->follow = query_flag(req->query, "follow");
	f->read = logread_new(&(struct logread_options){
		.dir = dir,
		.tail = query_number(req->query, "tailLines", -1),
		.since_ns = since(req->query),
		.limit_bytes = query_number(req->query, "limitBytes", -1),
		.timestamps = query_flag(req->query, "timestamps") });
	f->timer = loop_timer_new(logs->kubelet->loop, pump, f);
	f->next = logs->first;
	if (f->next != NULL)
		f->next->prev = f;
	logs->first = f;
	http_on_close(req, on_close, f);
	http_stream_begin(req, 200, &type, 1);
	pump(f);
}

/* The last start of a container, or the one before. */
static void
answer_start(struct logs *logs, struct http_request *req, const struct pod *pod,
	     const struct container *c)
{
	const char *reason = pod->waiting_reason;

	if (query_flag(req->query, "previous")) {
		if (c->has_before) {
			stream(logs, req, pod, c, c->attempt - 1);
			return;
		}
		reply_text(req, 400,
			   "previous terminated container \"%s\" in pod "
			   "\"%s\" not found",
			   c->name, pod->name);
	} else if (c->phase == CONTAINER_NONE || c->phase == CONTAINER_STALE) {
		reply_text(req, 400,
			   "container \"%s\" in pod \"%s\" is waiting to "
			   "start: %s",
			   c->name, pod->name,
			   reason == NULL ? "ContainerCreating" : reason);
	} else {
		stream(logs, req, pod, c, c->attempt);
	}
}

static void
answer_log(struct logs *logs, struct http_request *req, char *path)
{
	char *save = NULL;
	const char *ns = strtok_r(path, "/", &save);
	const char *name = strtok_r(NULL, "/", &save);
	const char *which = strtok_r(NULL, "/", &save);
	struct pod *pod;
	struct container *c;

	if (which == NULL || strtok_r(NULL, "/", &save) != NULL) {
		reply_text(req, 404, "404 page not found\n");
		return;
	}
	pod = pods_find(logs->pods, ns, name);
	c = find_container(pod, which);
	if (pod == NULL) {
		reply_text(req, 404, "pod \"%s\" not found", name);
	} else if (c == NULL) {
		reply_text(req, 404, "container %s not found in pod %s", which,
			   name);
	} else {
		container_look(c, pod->dir);
		answer_start(logs, req, pod, c);
	}
}

static bool
is_allowed(const struct http_request *req)
{
	const struct tls_https_peer *peer = req->peer;

	for (size_t i = 0; peer->verified && i < peer->organization_count;
	     i++) {
		if (str_equal(peer->organizations[i], ADMIN_GROUP))
			return true;
	}
	return false;
}

static void
handle(struct http_request *req, void *arg)
{
	struct logs *logs = arg;
	static const char prefix[] = "/containerLogs/";

	if (!is_allowed(req)) {
		reply_text(req, req->peer->verified ? 403 : 401,
			   req->peer->verified ? "Forbidden" : "Unauthorized");
	} else if (!str_equal(req->method, "GET")) {
		reply_text(req, 405, "Method Not Allowed");
	} else if (str_equal(req->path, "/healthz")) {
		reply_text(req, 200, "ok");
	} else if (str_has_prefix(req->path, prefix)) {
		AUTO(free_ptr)
		char *path = xstrdup(req->path + strlen(prefix));

		answer_log(logs, req, path);
	} else {
		reply_text(req, 404, "404 page not found\n");
	}
}

static int
load_tls(const struct settings *s, const char *client_ca,
	 struct tls_https **ret, struct err *err)
{
	AUTO(free_ptr) char *cert = NULL;
	AUTO(free_ptr) char *key = NULL;
	struct tls_https_pem pem = { .client_ca = client_ca,
				     .client_ca_len = strlen(client_ca),
				     .name = s->tls_cert };

	if (path_read_file(s->tls_cert, PEM_MAX, &cert, &pem.cert_len, err) ==
		    -1 ||
	    path_read_file(s->tls_key, PEM_MAX, &key, &pem.key_len, err) == -1)
		return -1;
	pem.cert = cert;
	pem.key = key;
	return tls_https_new(&pem, ret, err);
}

int
logs_start(struct kubelet *kubelet, const struct pods *pods,
	   const char *client_ca, struct logs **ret, uint16_t *ret_port,
	   struct err *err)
{
	struct http_config config = { .loop = kubelet->loop, .handle = handle };
	struct logs *logs;

	if (listen_open(kubelet->settings->listen, "0.0.0.0", SETTINGS_PORT,
			&config.listen_fd, ret_port, err) == -1)
		return -1;
	if (load_tls(kubelet->settings, client_ca, &config.tls, err) == -1) {
		close_fd(&config.listen_fd);
		return -1;
	}
	logs = xmalloc0(sizeof(*logs));
	logs->kubelet = kubelet;
	logs->pods = pods;
	config.arg = logs;
	logs->server = http_server_new(&config);
	tls_https_unref(config.tls);
	*ret = logs;
	return 0;
}

void
logs_free(struct logs *logs)
{
	struct follower *f, *next;

	if (logs == NULL)
		return;
	for (f = logs->first; f != NULL; f = next) {
		struct http_request *req = f->req;

		next = f->next;
		http_on_close(req, NULL, NULL);
		follower_free(f);
		http_stream_abort(req);
	}
	http_server_free(logs->server);
	free(logs);
}
