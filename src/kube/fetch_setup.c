/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/fetch_internal.h"

#define CONNECT_MS_DEFAULT 10000
/* Nine failed probes, the kernel's default, end a connection. */
#define KEEPALIVE_IDLE_S 20L
#define KEEPALIVE_EVERY_S 5L

static int
refuse(struct fetch *x, const char *why)
{
	(void)snprintf(x->refusal, sizeof(x->refusal), "%s", why);
	return -1;
}

static bool
is_line(const char *s)
{
	return strpbrk(s, "\r\n") == NULL;
}

static void
add_line(struct curl_slist **list, char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (longer == NULL)
		abort();
	*list = longer;
	free(line);
}

static bool
has_header(const struct fetch_request *r, const char *name)
{
	for (size_t i = 0; i < r->header_count; i++) {
		if (strcasecmp(r->headers[i].name, name) == 0)
			return true;
	}
	return false;
}

static int
set_headers(struct fetch *x, const struct fetch_request *r)
{
	/* What libcurl would add by itself. */
	static const char *const unwanted[] = { "Accept", "Content-Type",
						"Expect" };

	for (size_t i = 0; i < r->header_count; i++) {
		const struct fetch_header *h = &r->headers[i];

		if (!is_line(h->name) || !is_line(h->value) ||
		    strchr(h->name, ':') != NULL)
			return refuse(x, "net/http: invalid header field");
		/* "name;" is libcurl's way to say that the value is empty. */
		add_line(&x->headers,
			 *h->value != '\0'
				 ? xasprintf("%s: %s", h->name, h->value)
				 : xasprintf("%s;", h->name));
	}
	for (size_t i = 0; i < ARRAY_LEN(unwanted); i++) {
		if (!has_header(r, unwanted[i]))
			add_line(&x->headers, xasprintf("%s:", unwanted[i]));
	}
	(void)curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
	return 0;
}

static void
set_blob(CURL *easy, CURLoption option, const char *pem)
{
	struct curl_blob blob = { .data = (void *)(uintptr_t)pem,
				  .len = strlen(pem),
				  .flags = CURL_BLOB_COPY };

	if (curl_easy_setopt(easy, option, &blob) != CURLE_OK)
		abort();
}

static void
set_tls(struct fetch *x, const struct fetch_request *r)
{
	(void)curl_easy_setopt(x->easy, CURLOPT_SSLVERSION,
			       (long)CURL_SSLVERSION_TLSv1_2);
	if (r->ca_pem != NULL) {
		set_blob(x->easy, CURLOPT_CAINFO_BLOB, r->ca_pem);
		/* Otherwise the system's would be trusted as well. */
		(void)curl_easy_setopt(x->easy, CURLOPT_CAPATH, NULL);
	}
	if (r->cert_pem != NULL && r->key_pem != NULL) {
		set_blob(x->easy, CURLOPT_SSLCERT_BLOB, r->cert_pem);
		set_blob(x->easy, CURLOPT_SSLKEY_BLOB, r->key_pem);
	}
	if (r->insecure) {
		(void)curl_easy_setopt(x->easy, CURLOPT_SSL_VERIFYPEER, 0L);
		(void)curl_easy_setopt(x->easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static void
set_method(struct fetch *x, const struct fetch_request *r)
{
	CURL *easy = x->easy;

	if (r->body != NULL || str_equal(r->method, "POST") ||
	    str_equal(r->method, "PUT") || str_equal(r->method, "PATCH")) {
		(void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				       (curl_off_t)r->body_len);
		(void)curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS,
				       r->body != NULL ? r->body : "");
	} else if (str_equal(r->method, "HEAD")) {
		(void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	}
	if (!str_equal(r->method, "HEAD"))
		(void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, r->method);
}

static void
set_limits(struct fetch *x, const struct fetch_request *r)
{
	CURL *easy = x->easy;

	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			       (long)CURL_HTTP_VERSION_2TLS);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			       r->connect_ms != 0 ? (long)r->connect_ms
						  : (long)CONNECT_MS_DEFAULT);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	/* A peer that is gone is noticed within a minute or so, which matters
	 * for answers that last for hours. */
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_EVERY_S);
	(void)curl_easy_setopt(easy, CURLOPT_PIPEWAIT, r->share ? 1L : 0L);
}

static char *
url_part(CURLU *url, CURLUPart part, unsigned flags)
{
	char *text = NULL;
	char *copy = NULL;

	if (curl_url_get(url, part, &text, flags) == CURLUE_OK)
		copy = xstrdup(text);
	curl_free(text);
	return copy;
}

/*
 * libcurl compares the certificate with the URL's host. For another name the
 * URL gets that name, the connection goes where it would have gone, and the
 * Host header says what was asked for.
 */
static int
set_name(struct fetch *x, const struct fetch_request *r, CURLU *url)
{
	AUTO(free_ptr) char *given = url_part(url, CURLUPART_PORT, 0);
	AUTO(free_ptr)
	char *port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
	AUTO(free_ptr) char *target = NULL;

	target = r->connect_to != NULL ? xstrdup(r->connect_to)
				       : xasprintf("%s:%s", x->host, port);
	if (r->connect_to != NULL || r->tls_name != NULL)
		add_line(&x->connect_to, xasprintf("::%s", target));
	if (r->tls_name != NULL && !str_equal(r->tls_name, x->host)) {
		if (!has_header(r, "Host"))
			add_line(&x->headers,
				 xasprintf("Host: %s%s%s", x->host,
					   given != NULL ? ":" : "",
					   given != NULL ? given : ""));
		if (curl_url_set(url, CURLUPART_HOST, r->tls_name, 0) !=
		    CURLUE_OK)
			return refuse(x, "the name for TLS is no name");
	}
	(void)curl_easy_setopt(x->easy, CURLOPT_CONNECT_TO, x->connect_to);
	return 0;
}

static int
set_url(struct fetch *x, const struct fetch_request *r)
{
	CURLU *url = curl_url();
	char *whole;
	int result = -1;

	if (url == NULL)
		abort();
	if (curl_url_set(url, CURLUPART_URL, r->url, CURLU_PATH_AS_IS) !=
		    CURLUE_OK ||
	    (x->host = url_part(url, CURLUPART_HOST, 0)) == NULL) {
		curl_url_cleanup(url);
		return refuse(x, "the URL cannot be parsed");
	}
	if (set_name(x, r, url) == 0) {
		whole = url_part(url, CURLUPART_URL, 0);
		(void)curl_easy_setopt(x->easy, CURLOPT_URL, whole);
		(void)curl_easy_setopt(x->easy, CURLOPT_PATH_AS_IS, 1L);
		free(whole);
		result = 0;
	}
	curl_url_cleanup(url);
	return result;
}

void
fetch_setup(struct fetch *x, const struct fetch_request *r)
{
	set_limits(x, r);
	set_method(x, r);
	set_tls(x, r);
	if (set_url(x, r) == 0)
		(void)set_headers(x, r);
}
