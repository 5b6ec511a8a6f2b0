/* SPDX-License-Identifier: Apache-2.0 */
#include "http/health.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "http/listen.h"
#include "http/server.h"
#include "tls/pki.h"

#define PEM_MAX (1024UL * 1024) /* bytes of a certificate or key */
#define OWN_CERT_DAYS 3650
#define PORT_DEFAULT 8443
#define CONNECTIONS_MAX 64
#define BODY_MAX 1024UL

struct health_server {
	struct health_hooks hooks;
	struct http_server *http;
	uint16_t port;
};

static void
say(struct http_request *req, int code, const char *text)
{
	const struct http_header headers[] = {
		{ "Content-Type", "text/plain; charset=utf-8" },
	};

	http_reply(req, code, headers, ARRAY_LEN(headers), text, strlen(text));
}

static void
say_metrics(struct health_server *s, struct http_request *req)
{
	const struct http_header headers[] = {
		{ "Content-Type", "text/plain; version=0.0.4; charset=utf-8" },
	};
	AUTO(buf_done) struct buf buf = BUF_INIT(HEALTH_METRICS_MAX);

	if (s->hooks.metrics(&buf, s->hooks.arg) == -1) {
		say(req, 500, "there are too many metrics\n");
		return;
	}
	http_reply(req, 200, headers, ARRAY_LEN(headers), buf.data, buf.len);
}

static void
handle(struct http_request *req, void *arg)
{
	struct health_server *s = arg;

	if (!str_equal(req->method, "GET") && !str_equal(req->method, "HEAD"))
		say(req, 405, "only GET\n");
	else if (str_equal(req->path, "/healthz") ||
		 str_equal(req->path, "/livez"))
		say(req, 200, "ok");
	else if (str_equal(req->path, "/readyz"))
		say(req, s->hooks.ready(s->hooks.arg) ? 200 : 503,
		    s->hooks.ready(s->hooks.arg) ? "ok" : "not ready\n");
	else if (str_equal(req->path, "/metrics"))
		say_metrics(s, req);
	else
		say(req, 404, "not found\n");
}

static int
read_pem(const struct health_options *options, struct tls_pki_pem *ret,
	 struct err *err)
{
	if (options->tls_cert == NULL || options->tls_key == NULL)
		return err_set(err, ERR_INVALID,
			       "--tls-cert and --tls-key go together");
	if (path_read_file(options->tls_cert, PEM_MAX, &ret->cert,
			   &ret->cert_len, err) == -1)
		return -1;
	return path_read_file(options->tls_key, PEM_MAX, &ret->key,
			      &ret->key_len, err);
}

/* Vouched for by nobody: its authority is forgotten at once. */
static int
make_pem(const char *program, struct tls_pki_pem *ret, struct err *err)
{
	const char *names[] = { program, NULL };
	const struct tls_pki_subject subject = {
		.common_name = program,
		.names = names,
		.validity = tls_pki_days(OWN_CERT_DAYS),
		.usage = TLS_PKI_SERVER,
	};
	AUTO(tls_pki_pem_done) struct tls_pki_pem ca = { 0 };

	if (tls_pki_make_ca(program, &subject.validity, &ca, err) == -1)
		return -1;
	return tls_pki_make_cert(&ca, &subject, ret, err);
}

static int
make_tls(const struct health_options *options, struct tls_https **ret,
	 struct err *err)
{
	AUTO(tls_pki_pem_done) struct tls_pki_pem pem = { 0 };
	struct tls_https_pem https = { .name = "the server of metrics" };
	int r;

	if (options->tls_cert != NULL || options->tls_key != NULL)
		r = read_pem(options, &pem, err);
	else
		r = make_pem(options->program, &pem, err);
	if (r == -1)
		return -1;
	https.cert = pem.cert;
	https.cert_len = pem.cert_len;
	https.key = pem.key;
	https.key_len = pem.key_len;
	return tls_https_new(&https, ret, err);
}

struct health_server *
health_server_new(struct loop *loop, const struct health_options *options,
		  const struct health_hooks *hooks, struct err *err)
{
	struct http_config config = {
		.loop = loop,
		.limits = { .connections = CONNECTIONS_MAX,
			    .body_bytes = BODY_MAX },
		.handle = handle,
	};
	struct health_server *s;
	uint16_t port;

	if (make_tls(options, &config.tls, err) == -1)
		return NULL;
	if (listen_open(options->listen, "", PORT_DEFAULT, &config.listen_fd,
			&port, err) == -1) {
		tls_https_unref(config.tls);
		return NULL;
	}
	s = xmalloc0(sizeof(*s));
	s->hooks = *hooks;
	s->port = port;
	config.arg = s;
	s->http = http_server_new(&config);
	tls_https_unref(config.tls);
	return s;
}

void
health_server_free(struct health_server *s)
{
	if (s == NULL)
		return;
	http_server_free(s->http);
	free(s);
}

uint16_t
health_server_port(const struct health_server *s)
{
	return s->port;
}
