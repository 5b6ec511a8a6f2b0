/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_SETTINGS_H
#define PROXY_SETTINGS_H

/*
 * settings - what serve, target and source have in common on the command line.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/opts.h"
#include "proxy/creds.h"
#include "proxy/proxy.h"

struct err;

#define SETTINGS_ROWS 32 /* room for the rows of settings_rows() */

struct settings {
	const char *user;
	const char *log_level;
	const char *log_format;
	const char *engine;
	const char *bind;
	const char *ports;
	struct cred_files files; /* for all sets that name none */
	struct creds_config creds;
	uint64_t threads;
	uint64_t dial_timeout_ms;
	uint64_t handshake_timeout_ms;
	uint64_t peer_timeout_ms;
	uint64_t max_connections;
	uint64_t max_handshakes;
};

void settings_init(struct settings *settings);

/* Writes the rows that fill settings and returns how many there are. */
size_t settings_rows(struct settings *settings, struct opt rows[SETTINGS_ROWS]);

/*
 * Checks what has been parsed, completes the credentials for the sides that
 * are wanted, starts the log, and fills the proxy's options.
 */
int settings_apply(struct settings *settings, bool server, bool source,
		   struct proxy_options *ret_options, struct err *err);

#endif
