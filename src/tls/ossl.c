/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/ossl.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <openssl/err.h>

const char *
ossl_text(char *buf, size_t size)
{
	unsigned long code = ERR_peek_error();
	const char *reason = ERR_reason_error_string(code);

	if (code == 0)
		(void)snprintf(buf, size, "no details");
	else if (reason != NULL)
		(void)snprintf(buf, size, "%s", reason);
	else
		(void)snprintf(buf, size, "error %lx", code);
	ERR_clear_error();
	return buf;
}

int
ossl_err(struct err *err, enum err_kind kind, const char *fmt, ...)
{
	char what[160];
	char why[96];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(err, kind, "%s: %s", what, ossl_text(why, sizeof(why)));
}

void
ossl_clear(void)
{
	ERR_clear_error();
}

int
ossl_no_passphrase(char *buf, int size, int rwflag, void *arg)
{
	if (size > 0)
		buf[0] = '\0';
	(void)rwflag;
	(void)arg;
	return -1;
}

int
ossl_time(const ASN1_TIME *t, int64_t *ret_seconds)
{
	struct tm tm = { 0 };

	if (t == NULL || ASN1_TIME_to_tm(t, &tm) != 1)
		return -1;
	*ret_seconds = (int64_t)timegm(&tm);
	return 0;
}
