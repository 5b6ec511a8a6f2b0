/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/settings.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "proxy/worker.h"
#include "tls/ktls.h"

#define DEFAULT_THREADS_MAX 4
#define TIMEOUT_LEAST_MS 100
#define TIMEOUT_MOST_MS (24ULL * 3600 * 1000)

static const struct {
	const char *name;
	enum tls_engine engine;
	bool ktls; /* if the kernel can */
} engines[] = {
	{ "auto", TLS_ENGINE_RECORD, true },
	{ "record", TLS_ENGINE_RECORD, false },
	{ "libssl", TLS_ENGINE_LIBSSL, false },
};

void
settings_init(struct settings *settings)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	*settings = (struct settings){
		.log_level = "info",
		.log_format = "auto",
		.engine = "auto",
		.bind = "*",
		.ports = "0",
		.threads = cores < 1 ? 1
				     : (cores > DEFAULT_THREADS_MAX
						? DEFAULT_THREADS_MAX
						: (uint64_t)cores),
		.dial_timeout_ms = PROXY_DIAL_TIMEOUT_MS,
		.handshake_timeout_ms = PROXY_HANDSHAKE_TIMEOUT_MS,
		.peer_timeout_ms = PROXY_PEER_TIMEOUT_MS,
		.max_connections = PROXY_MAX_CONNECTIONS,
		.max_handshakes = PROXY_MAX_HANDSHAKES,
	};
}

static size_t
cred_rows(struct settings *s, struct opt rows[SETTINGS_ROWS])
{
	struct cred_files *set = s->creds.set;
	const struct opt all[] = {
		{ "cert", "FILE", "this node's certificate, for every use",
		  OPT_STR, &s->files.cert, 0, 0 },
		{ "key-file", "FILE", "its private key", OPT_STR, &s->files.key,
		  0, 0 },
		{ "ca", "FILE", "CAs whose nodes are trusted", OPT_STR,
		  &s->files.ca, 0, 0 },
		{ "server-cert", "FILE", "shown to sources", OPT_STR,
		  &set[CRED_SERVER].cert, 0, 0 },
		{ "server-key", "FILE", "its private key", OPT_STR,
		  &set[CRED_SERVER].key, 0, 0 },
		{ "server-ca", "FILE", "CAs trusted for sources", OPT_STR,
		  &set[CRED_SERVER].ca, 0, 0 },
		{ "migration-cert", "FILE", "shown to targets", OPT_STR,
		  &set[CRED_MIGRATION].cert, 0, 0 },
		{ "migration-key", "FILE", "its private key", OPT_STR,
		  &set[CRED_MIGRATION].key, 0, 0 },
		{ "migration-ca", "FILE", "CAs trusted for targets", OPT_STR,
		  &set[CRED_MIGRATION].ca, 0, 0 },
		{ "client-cert", "FILE", "used where --migration-cert is not",
		  OPT_STR, &set[CRED_CLIENT].cert, 0, 0 },
		{ "client-key", "FILE", "its private key", OPT_STR,
		  &set[CRED_CLIENT].key, 0, 0 },
		{ "client-ca", "FILE", "used where --migration-ca is not",
		  OPT_STR, &set[CRED_CLIENT].ca, 0, 0 },
	};

	memcpy(rows, all, sizeof(all));
	return ARRAY_LEN(all);
}

size_t
settings_rows(struct settings *s, struct opt rows[SETTINGS_ROWS])
{
	size_t count = cred_rows(s, rows);
	const struct opt rest[] = {
		{ "user", "USER", "become this user; needed when root", OPT_STR,
		  &s->user, 0, 0 },
		{ "bind", "SPEC",
		  "address, interface or network to listen on (any)", OPT_STR,
		  &s->bind, 0, 0 },
		{ "threads", "N", "threads that carry streams", OPT_U64,
		  &s->threads, 1, WORKERS_MAX },
		{ "engine", "NAME", "auto, record or libssl (auto)", OPT_STR,
		  &s->engine, 0, 0 },
		{ "dial-timeout", "TIME", "for a connection (10s)", OPT_MS,
		  &s->dial_timeout_ms, TIMEOUT_LEAST_MS, TIMEOUT_MOST_MS },
		{ "handshake-timeout", "TIME", "for TLS (10s)", OPT_MS,
		  &s->handshake_timeout_ms, TIMEOUT_LEAST_MS, TIMEOUT_MOST_MS },
		{ "peer-timeout", "TIME", "a silent peer is dead then (15s)",
		  OPT_MS, &s->peer_timeout_ms, TIMEOUT_LEAST_MS,
		  TIMEOUT_MOST_MS },
		{ "max-connections", "N", "per listener (4096)", OPT_U64,
		  &s->max_connections, 1, 1000000 },
		{ "max-handshakes", "N", "open at once, per listener (128)",
		  OPT_U64, &s->max_handshakes, 1, 100000 },
		{ "log-level", "LEVEL", "debug, info, warning or error (info)",
		  OPT_STR, &s->log_level, 0, 0 },
		{ "log-format", "FORMAT", "json, human or auto (auto)", OPT_STR,
		  &s->log_format, 0, 0 },
	};

	static_assert(ARRAY_LEN(rest) + CREDS_FILES_MAX + 3 <= SETTINGS_ROWS,
		      "settings have more rows than room");
	memcpy(rows + count, rest, sizeof(rest));
	return count + ARRAY_LEN(rest);
}

static int
find_engine(const char *name, struct proxy_options *options, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		if (strcmp(engines[i].name, name) == 0) {
			options->engine = engines[i].engine;
			options->ktls = engines[i].ktls && tls_ktls_available();
			return 0;
		}
	}
	return err_set(err, ERR_INVALID,
		       "--engine is '%s': must be auto, record or libssl",
		       name);
}

static int
start_log(const struct settings *settings, struct err *err)
{
	enum log_level level;
	enum log_format format;

	if (log_level_from_name(settings->log_level, &level) == -1)
		return err_set(err, ERR_INVALID,
			       "--log-level is '%s': must be debug, info, "
			       "warning or error",
			       settings->log_level);
	if (log_format_from_name(settings->log_format, &format) == -1)
		return err_set(err, ERR_INVALID,
			       "--log-format is '%s': must be json, human or "
			       "auto",
			       settings->log_format);
	log_init("ferry-proxy", level, format);
	return 0;
}

/* Sets that name no files use the common ones. */
static void
use_common_files(struct settings *settings)
{
	struct cred_files *set = settings->creds.set;
	const struct cred_files *all = &settings->files;

	for (int i = 0; i < CRED_COUNT; i++) {
		bool stand_in =
			i == CRED_MIGRATION && set[CRED_CLIENT].cert != NULL;

		if (set[i].cert == NULL && set[i].key == NULL && !stand_in) {
			set[i].cert = all->cert;
			set[i].key = all->key;
		}
		if (set[i].ca == NULL &&
		    !(i == CRED_MIGRATION && set[CRED_CLIENT].ca != NULL))
			set[i].ca = all->ca;
	}
}

int
settings_apply(struct settings *settings, bool server, bool source,
	       struct proxy_options *ret_options, struct err *err)
{
	struct proxy_options options = {
		.dial_timeout_ms = (unsigned)settings->dial_timeout_ms,
		.handshake_timeout_ms =
			(unsigned)settings->handshake_timeout_ms,
		.peer_timeout_ms = (unsigned)settings->peer_timeout_ms,
		.max_connections = (unsigned)settings->max_connections,
		.max_handshakes = (unsigned)settings->max_handshakes,
		.bind = settings->bind,
	};

	if (start_log(settings, err) == -1 ||
	    find_engine(settings->engine, &options, err) == -1 ||
	    tcplisten_parse_range(settings->ports, &options.range, err) == -1)
		return -1;
	use_common_files(settings);
	if (creds_config_complete(&settings->creds, server, source, err) == -1)
		return -1;
	*ret_options = options;
	return 0;
}
