/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_CREDS_H
#define PROXY_CREDS_H

/*
 * creds - who this node is: certificates, keys and the CAs it trusts.
 *
 * Three sets, which may be the same files: `server` is shown by target
 * listeners; `migration` by sources when they dial; `client` stands in for
 * `migration` where that is not given.
 *
 * The files are looked at every CREDS_CHECK_MS and read again when one of them
 * changed, through the opener, since this process cannot open files any more.
 * A set is replaced only as a whole and only by one that works: a renewal in
 * mid-write is tried again at the next look. Connections that exist keep what
 * they were made with.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"
#include "tls/context.h"

struct err;
struct loop;
struct opener;

#define CREDS_CHECK_MS 2000

enum cred {
	CRED_SERVER,
	CRED_CLIENT,
	CRED_MIGRATION,
	CRED_COUNT,
};

/* The files of one set. */
struct cred_files {
	const char *cert;
	const char *key;
	const char *ca;
};

#define CREDS_FILES_MAX (3 * CRED_COUNT)

struct creds_config {
	struct cred_files set[CRED_COUNT];
};

/* "server", "client", "migration". */
const char *cred_name(enum cred cred);

/*
 * Completes config: what a set does not name it takes from the one that stands
 * in for it. ERR_INVALID naming the option when something is missing for the
 * sides that are wanted.
 */
int creds_config_complete(struct creds_config *config, bool server, bool source,
			  struct err *err);

/* The files of all sets, as the opener is to know them. Returns how many. */
size_t creds_config_files(const struct creds_config *config,
			  const char *files[CREDS_FILES_MAX]);

struct creds;

/* Reads everything once. */
int creds_load(const struct creds_config *config, struct opener *opener,
	       struct creds **ret_creds, struct err *err);
void creds_free(struct creds *creds);

/* Begins to look for changes. */
void creds_watch(struct creds *creds, struct loop *loop);

/* Looks now; for SIGHUP and the control socket. */
void creds_check(struct creds *creds);

/* For accepting and for dialling; NULL when not configured. Borrowed. */
struct tls_context *creds_server(struct creds *creds);
struct tls_context *creds_source(struct creds *creds);

/* {"server":{"identity","notBefore","notAfter","reloads"},...} */
json_t *creds_describe(const struct creds *creds);

#endif
