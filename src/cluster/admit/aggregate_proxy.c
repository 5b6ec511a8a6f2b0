/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/aggregate_internal.h"
#include "cluster/admit/service.h"
#include "cluster/auth/user.h"
#include "http/server.h"
#include "kube/fetch.h"

/* What a slow client may leave with us before its server has to wait. */
#define BACKLOG_HIGH (256 * 1024)
#define BACKLOG_LOW (64 * 1024)
#define FORWARDED "X-Forwarded-For"
/* Of a header that we make. */
#define HEADER_MAX 8192

struct proxied {
	struct aggregate *agg;
	struct http_request *req;
	struct fetch *fetch;
	bool begun; /* the answer's head went out */
	struct proxied *prev, *next;
};

/* Headers to be sent: name and value are borrowed or in owned. */
struct headers {
	struct fetch_header list[FETCH_HEADERS_MAX];
	size_t count;
	char *owned[FETCH_HEADERS_MAX];
	size_t owned_count;
	bool full; /* one did not fit */
};

static void
headers_done(struct headers *h)
{
	for (size_t i = 0; i < h->owned_count; i++)
		free(h->owned[i]);
}

static void
headers_add(struct headers *h, const char *name, const char *value)
{
	if (h->count == ARRAY_LEN(h->list)) {
		h->full = true;
		return;
	}
	h->list[h->count++] = (struct fetch_header){ name, value };
}

static bool
is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* About one connection, or set anew by who sends. */
static bool
is_of_connection(const char *name)
{
	static const char *const names[] = {
		"Connection",        "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Connection",  "TE",         "Trailer",
		"Transfer-Encoding", "Upgrade",    "Host",
		"Content-Length",    "Expect",     "Date",
	};

	return is_one_of(name, names, ARRAY_LEN(names));
}

/* Who the client is, is for us to say. */
static bool
is_identity(const char *name)
{
	static const char *const names[] = { "Authorization",
					     "Proxy-Authorization", FORWARDED };
	static const char *const prefixes[] = { "X-Remote-", "Impersonate-" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		if (strncasecmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return is_one_of(name, names, ARRAY_LEN(names));
}

/* A token as RFC 7230 has it, the rest percent-encoded, '%' too. */
static char *
extra_name(const char *key)
{
	static const char allowed[] = "!#$&'*+-.^_`|~";
	struct buf buf = BUF_INIT(HEADER_MAX);

	(void)buf_append_str(&buf, "X-Remote-Extra-");
	for (; *key != '\0'; key++) {
		unsigned char c = (unsigned char)*key;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || strchr(allowed, c) != NULL)
			(void)buf_append(&buf, &c, 1);
		else
			(void)buf_printf(&buf, "%%%02X", c);
	}
	return (char *)buf.data;
}

static void
add_extra(struct headers *h, const json_t *extra)
{
	const char *key;
	json_t *values, *value;
	size_t i;

	json_object_foreach((json_t *)extra, key, values)
	{
		char *name;

		if (h->owned_count == ARRAY_LEN(h->owned)) {
			h->full = true;
			return;
		}
		name = extra_name(key);
		h->owned[h->owned_count++] = name;
		json_array_foreach(values, i, value)
			headers_add(h, name, json_string_value(value));
	}
}

/* As proxies do: the client's address behind those it came through. */
static void
add_forwarded(struct headers *h, const struct http_request *req)
{
	const char *before = http_header(req, FORWARDED);
	const char *colon = strrchr(req->remote, ':');
	const char *start = req->remote + (*req->remote == '[');
	int len = (int)((colon != NULL ? colon : req->remote) - start);

	if (h->owned_count == ARRAY_LEN(h->owned)) {
		h->full = true;
		return;
	}
	len -= len > 0 && start[len - 1] == ']';
	h->owned[h->owned_count] =
		xasprintf("%s%s%.*s", before != NULL ? before : "",
			  before != NULL ? ", " : "", len, start);
	headers_add(h, FORWARDED, h->owned[h->owned_count++]);
}

static void
fill_headers(struct headers *h, const struct http_request *req,
	     const struct user *user)
{
	for (size_t i = 0; i < req->header_count; i++) {
		const struct http_header *header = &req->headers[i];

		if (!is_of_connection(header->name) &&
		    !is_identity(header->name))
			headers_add(h, header->name, header->value);
	}
	add_forwarded(h, req);
	headers_add(h, "X-Remote-User", user->name);
	if (user->uid != NULL)
		headers_add(h, "X-Remote-Uid", user->uid);
	for (size_t i = 0; i < user->n_groups; i++)
		headers_add(h, "X-Remote-Group", user->groups[i]);
	add_extra(h, user->extra);
}

static void
reply_text(struct http_request *req, int code, const char *text)
{
	static const struct http_header headers[] = {
		{ "Content-Type", "text/plain; charset=utf-8" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Cache-Control", "no-cache, private" },
	};
	AUTO(free_ptr) char *line = xasprintf("%s\n", text);

	http_reply(req, code, headers, ARRAY_LEN(headers), line, strlen(line));
}

/* Unlinks and frees; the request must have been given away. */
static void
proxied_free(struct proxied *p)
{
	if (p->prev != NULL)
		p->prev->next = p->next;
	else
		p->agg->proxied = p->next;
	if (p->next != NULL)
		p->next->prev = p->prev;
	free(p);
}

static void
proxied_cut(struct proxied *p)
{
	if (p->fetch != NULL)
		fetch_cancel(p->fetch);
	http_on_close(p->req, NULL, NULL);
	http_stream_abort(p->req);
	proxied_free(p);
}

void
proxied_end_all(struct aggregate *agg)
{
	struct proxied *p, *next;

	for (p = agg->proxied; p != NULL; p = next) {
		next = p->next;
		proxied_cut(p);
	}
}

static void
on_close(struct http_request *req, void *arg)
{
	(void)req;
	proxied_cut(arg);
}

static void
on_drain(struct http_request *req, void *arg)
{
	const struct proxied *p = arg;

	(void)req;
	if (p->fetch != NULL)
		fetch_pause(p->fetch, false);
}

static void
on_head(const struct fetch_result *head, void *arg)
{
	struct http_header headers[FETCH_HEADERS_MAX];
	struct proxied *p = arg;
	size_t count = 0;

	for (size_t i = 0; i < head->header_count && count < ARRAY_LEN(headers);
	     i++) {
		const struct fetch_header *header = &head->headers[i];

		if (!is_of_connection(header->name))
			headers[count++] =
				(struct http_header){ header->name,
						      header->value };
	}
	p->begun = true;
	http_stream_begin(p->req, head->code, headers, count);
}

static void
on_data(const void *data, size_t len, void *arg)
{
	struct proxied *p = arg;

	http_stream_write(p->req, data, len);
	if (http_stream_backlog(p->req) <= BACKLOG_HIGH)
		return;
	fetch_pause(p->fetch, true);
	http_stream_on_drain(p->req, BACKLOG_LOW, on_drain, p);
}

static void
on_done(const struct fetch_result *result, void *arg)
{
	struct proxied *p = arg;
	AUTO(free_ptr) char *text = NULL;

	p->fetch = NULL;
	http_on_close(p->req, NULL, NULL);
	if (p->begun && result->error == FETCH_OK) {
		http_stream_end(p->req);
	} else if (p->begun) {
		/* The client must not take a part for the whole. */
		http_stream_abort(p->req);
	} else {
		text = xasprintf("error trying to reach service: %s",
				 result->cause);
		reply_text(p->req, 503, text);
	}
	proxied_free(p);
}

/*
 * A client of HTTP resolves "." and "..", plain or encoded, so the other
 * server would be asked for another path than the one that was authorized.
 */
static bool
has_dot_segment(const char *path)
{
	while (*path != '\0') {
		size_t dots = 0;

		path += *path == '/';
		for (;;) {
			if (*path == '.')
				path++;
			else if (strncasecmp(path, "%2e", 3) == 0)
				path += 3;
			else
				break;
			dots++;
		}
		if ((dots == 1 || dots == 2) && (*path == '/' || *path == '\0'))
			return true;
		path += strcspn(path, "/");
	}
	return false;
}

static bool
is_watch(const struct http_request *req)
{
	const char *query = req->query;

	while (query != NULL) {
		query += *query == '&';
		if (str_has_prefix(query, "watch=true") ||
		    str_has_prefix(query, "watch=1"))
			return true;
		query = strchr(query, '&');
	}
	return strstr(req->path, "/watch/") != NULL;
}

static void
start(struct aggregate *agg, struct remote *remote, struct http_request *req,
      const struct service_address *address, const struct headers *headers)
{
	char connect_to[SERVICE_ADDRESS_SIZE];
	AUTO(free_ptr)
	char *url =
		xasprintf("https://%s.%s.svc:%u%s%s%s", remote->service_name,
			  remote->service_ns, remote->service_port, req->path,
			  *req->query != '\0' ? "?" : "", req->query);
	const struct fetch_request request = {
		.method = req->method,
		.url = url,
		.headers = headers->list,
		.header_count = headers->count,
		.body = req->body,
		.body_len = req->body_len,
		.connect_to = connect_to,
		.ca_pem = remote->ca_pem,
		.cert_pem = agg->cert_pem,
		.key_pem = agg->key_pem,
		.insecure = remote->insecure,
		.timeout_ms = is_watch(req) ? 0 : AGGREGATE_REQUEST_MS,
		.on_head = on_head,
		.on_data = on_data,
	};
	struct proxied *p = xmalloc0(sizeof(*p));

	service_address_text(address, connect_to);
	p->agg = agg;
	p->req = req;
	p->next = agg->proxied;
	if (p->next != NULL)
		p->next->prev = p;
	agg->proxied = p;
	http_on_close(req, on_close, p);
	p->fetch = fetch_start(agg->config.fetcher, &request, on_done, p);
}

/* NULL, or why the request is refused with *ret_code. */
static const char *
find_fault(const struct remote *remote, const struct http_request *req,
	   int *ret_code)
{
	*ret_code = 503;
	if (remote == NULL || !remote->available)
		return "service unavailable";
	if (has_dot_segment(req->path)) {
		*ret_code = 400;
		return "the path must not have . or .. in it";
	}
	if (http_header(req, "Upgrade") != NULL) {
		*ret_code = 501;
		return "upgrading the connection is not supported";
	}
	return NULL;
}

void
aggregate_handle(struct aggregate *agg, const char *group, const char *version,
		 struct http_request *req, const struct user *user)
{
	struct remote *remote = aggregate_find(agg, group, version);
	struct headers headers = { .count = 0 };
	struct service_address address;
	struct service_ref ref;
	const char *fault;
	struct err err;
	int code;

	fault = find_fault(remote, req, &code);
	if (fault != NULL) {
		reply_text(req, code, fault);
		return;
	}
	ref = remote_service(remote);
	if (service_resolve(agg->config.store, &ref, remote->turn++, &address,
			    &err) == -1) {
		reply_text(req, 503, err.text);
		return;
	}
	fill_headers(&headers, req, user);
	if (headers.full)
		reply_text(req, 431, "too many headers");
	else
		start(agg, remote, req, &address, &headers);
	headers_done(&headers);
}
