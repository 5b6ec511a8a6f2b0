/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/reason.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

static const char *const names[] = {
	[REASON_HANDSHAKE_TIMEOUT] = "HandshakeTimeout",
	[REASON_DIAL_FAILED] = "DialFailed",
	[REASON_DIAL_REFUSED] = "DialRefused",
	[REASON_DIAL_TIMEOUT] = "DialTimeout",
	[REASON_LOCAL_MISSING] = "LocalMissing",
	[REASON_LOCAL_FAILED] = "LocalFailed",
	[REASON_LOCAL_TIMEOUT] = "LocalTimeout",
	[REASON_WRONG_MIGRATION] = "WrongMigration",
	[REASON_WRONG_CHANNEL] = "WrongChannel",
	[REASON_WRONG_MODE] = "WrongMode",
	[REASON_BAD_MESSAGE] = "BadMessage",
	[REASON_PEER_REFUSED] = "PeerRefused",
	[REASON_PEER_DEAD] = "PeerDead",
	[REASON_PEER_RESET] = "PeerReset",
	[REASON_TOO_MANY_HANDSHAKES] = "TooManyHandshakes",
	[REASON_STOPPED] = "Stopped",
	[REASON_RESOURCES] = "Resources",
};
static_assert(ARRAY_LEN(names) == REASON_COUNT, "a reason has no name");

const char *
reason_name(enum reason reason)
{
	if ((int)reason < (int)TLS_REASON_COUNT)
		return tls_reason_name((enum tls_reason)reason);
	return names[reason];
}

enum reason
reason_from_name(const char *name)
{
	for (int i = 0; i < REASON_COUNT; i++) {
		if (strcmp(reason_name((enum reason)i), name) == 0)
			return (enum reason)i;
	}
	return REASON_COUNT;
}

void
failure_set(struct failure *failure, enum reason reason, const char *fmt, ...)
{
	va_list ap;

	failure->reason = reason;
	va_start(ap, fmt);
	(void)vsnprintf(failure->text, sizeof(failure->text), fmt, ap);
	va_end(ap);
}

void
failure_from_tls(struct failure *failure, const struct tls_failure *tls)
{
	failure_set(failure, (enum reason)(int)tls->reason, "%s", tls->text);
}

json_t *
failures_describe(const uint64_t counts[REASON_COUNT])
{
	json_t *all = json_object();

	for (int i = REASON_NONE + 1; i < REASON_COUNT; i++) {
		if (counts[i] > 0)
			json_object_set_new(
				all, reason_name((enum reason)i),
				json_integer((json_int_t)counts[i]));
	}
	return all;
}
