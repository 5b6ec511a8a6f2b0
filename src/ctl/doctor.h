/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_DOCTOR_H
#define CTL_DOCTOR_H

/*
 * doctor - judges the proxies of nodes and the way between them. Pure: of what
 * was gathered it makes checks and a conclusion.
 *
 *	{"nodes": [{"name",
 *		    "silent": true: its agent was asked and does not answer, or
 *		    "agent": its version,
 *		    "address": by which others reach it, if it was told,
 *		    "error": why its proxy does not answer, or
 *		    "status", "source", "target": as its proxy says,
 *		    "interface": {"name", "address" or "error"}, as seen from
 *		    outside; otherwise the proxy's own status.bind counts}],
 *	 "migration": {"name", "phase", "key", "source", "target", "address",
 *		       "ports", "sockets": {NAME: BOOL}},
 *	 "probes": [{"from", "to", "address", "port", "channel", "result"}],
 *	 "paths": [{"from", "to", "address", "handshakeUs", "roundTripUs", or
 *		    "reason", "message"}]}
 *
 * Members that nobody could look at are missing. A probe without a channel went
 * to a port that nobody listens on: to be refused is fine. Results are those of
 * reach_name().
 *
 * Threading: any thread, with JSON of its own.
 */

#include <stdint.h>

#include "base/js.h"

#define DOCTOR_SOON_DAYS 14 /* a certificate that expires is noted */

/* Adds to checks. */
void doctor_judge(const json_t *facts, int64_t now_us, json_t *checks);
/* What it comes down to, in a sentence or two: which of the cases of
 * docs/operations.md. NULL: nothing is wrong; to be freed. */
char *doctor_conclude(const json_t *facts, int64_t now_us);

#endif
