/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/fetch_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"

/* Go writes them small. */
static const struct {
	int number;
	const char *text;
} errnos[] = {
	{ ECONNREFUSED, "connection refused" },
	{ EHOSTUNREACH, "no route to host" },
	{ ENETUNREACH, "network is unreachable" },
	{ ETIMEDOUT, "connection timed out" },
	{ ECONNRESET, "connection reset by peer" },
	{ EPIPE, "broken pipe" },
};

static const char *
errno_text(int number)
{
	for (size_t i = 0; i < ARRAY_LEN(errnos); i++) {
		if (errnos[i].number == number)
			return errnos[i].text;
	}
	return strerror(number);
}

/*
 * OpenSSL's X509_V_ERR_..., which libcurl hands on as a number: 9 and 10 are
 * about time; 18, 19, 20 and 21 all mean that no CA given vouches for it.
 */
static char *
certificate_cause(const struct fetch_failure *f)
{
	switch (f->verify_result) {
	case 9:
	case 10:
		return xasprintf(
			"x509: certificate has expired or is not yet valid");
	case 18:
	case 19:
	case 20:
	case 21:
		return xasprintf(
			"x509: certificate signed by unknown authority");
	case 0:
	case 1:
		/* The chain is good, or was not even looked at: the name. */
		return xasprintf("x509: certificate is not valid for %s",
				 f->host);
	default:
		return xasprintf("x509: %s", f->details);
	}
}

static char *
connect_cause(const struct fetch_failure *f)
{
	if (f->os_errno == 0)
		return xasprintf("dial tcp %s: %s", f->address, f->details);
	return xasprintf("dial tcp %s: connect: %s", f->address,
			 errno_text(f->os_errno));
}

static char *
broken_cause(const struct fetch_failure *f)
{
	if (f->os_errno == ECONNRESET || f->os_errno == EPIPE)
		return xasprintf("read tcp %s: read: %s", f->address,
				 errno_text(f->os_errno));
	return xasprintf("EOF");
}

static enum fetch_error
timeout_cause(const struct fetch_failure *f, char **ret_cause)
{
	if (f->silent)
		*ret_cause = xasprintf(
			"net/http: timeout awaiting response headers");
	else if (f->deadline)
		*ret_cause = xasprintf("context deadline exceeded");
	else
		*ret_cause = xasprintf("dial tcp %s: i/o timeout", f->address);
	return FETCH_TIMEOUT;
}

enum fetch_error
fetch_text_cause(const struct fetch_failure *f, char **ret_cause)
{
	if (f->too_large) {
		*ret_cause = xasprintf("http: response body too large");
		return FETCH_TOO_LARGE;
	}
	/* Only those that come up; the rest has libcurl's words. */
	switch ((int)f->code) {
	case CURLE_OPERATION_TIMEDOUT:
		return timeout_cause(f, ret_cause);
	case CURLE_COULDNT_CONNECT:
		*ret_cause = connect_cause(f);
		return FETCH_REFUSED;
	case CURLE_COULDNT_RESOLVE_HOST:
		*ret_cause =
			xasprintf("dial tcp: lookup %s: no such host", f->host);
		return FETCH_RESOLVE;
	case CURLE_PEER_FAILED_VERIFICATION:
		*ret_cause = certificate_cause(f);
		return FETCH_TLS;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		*ret_cause = xasprintf("tls: %s", f->details);
		return FETCH_TLS;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_ABORTED_BY_CALLBACK: /* it would have been sent again */
		*ret_cause = broken_cause(f);
		return FETCH_OTHER;
	case CURLE_PARTIAL_FILE:
		*ret_cause = xasprintf("unexpected EOF");
		return FETCH_OTHER;
	default:
		*ret_cause = xasprintf("%s", f->details);
		return FETCH_OTHER;
	}
}

char *
fetch_text_whole(const char *method, const char *url, const char *cause)
{
	char *text = xasprintf("%s \"%s\": %s", method, url, cause);

	for (char *p = text + 1; *p != ' ' && *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return text;
}
