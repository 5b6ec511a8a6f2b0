/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_REASON_H
#define PROXY_REASON_H

/*
 * reason - why a connection or a stream was refused or ended.
 *
 * A code for machines and a sentence for a person, kept from the place of
 * failure to the log, the status and the metrics. The codes are an interface:
 * they are listed in ferry-proxy(8) and never change their meaning.
 */

#include <stdint.h>

#include "base/js.h"
#include "tls/reason.h"

/*
 * The codes of a failed handshake or record are those of src/tls; the rest
 * follow. Names are in reason.c.
 */
enum reason {
	REASON_NONE = TLS_REASON_NONE,
	REASON_TRUNCATED = TLS_REASON_TRUNCATED,
	REASON_HANDSHAKE_TIMEOUT = TLS_REASON_COUNT,
	REASON_DIAL_FAILED,
	REASON_DIAL_REFUSED,
	REASON_DIAL_TIMEOUT,
	REASON_LOCAL_MISSING, /* nothing listens on the local socket */
	REASON_LOCAL_FAILED,
	REASON_LOCAL_TIMEOUT,
	REASON_WRONG_MIGRATION,
	REASON_WRONG_CHANNEL,
	REASON_WRONG_MODE, /* one side wants TLS, the other plain */
	REASON_BAD_MESSAGE,
	REASON_PEER_REFUSED, /* the other proxy said no without a known code */
	REASON_PEER_DEAD,    /* silent for longer than the peer timeout */
	REASON_PEER_RESET,
	REASON_TOO_MANY_HANDSHAKES,
	REASON_STOPPED,   /* the listener was stopped or replaced */
	REASON_RESOURCES, /* out of descriptors or the like */
	REASON_COUNT,
};

struct failure {
	enum reason reason;
	char text[256];
};

const char *reason_name(enum reason reason);

/* REASON_COUNT for a name that is not known. */
enum reason reason_from_name(const char *name);

void failure_set(struct failure *failure, enum reason reason, const char *fmt,
		 ...) __attribute__((format(printf, 3, 4)));
/* {CODE: count} for those that happened; counts has REASON_COUNT, new. */
json_t *failures_describe(const uint64_t counts[REASON_COUNT]);
void failure_from_tls(struct failure *failure, const struct tls_failure *tls);

#endif
