/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_ADMISSION_H
#define CLUSTER_ADMIT_ADMISSION_H

/*
 * admission - what stands between a decoded request and the store.
 *
 * A write passes three gates, in this order:
 *
 *   admission_mutate    namespace lifecycle, the defaults of the in-process
 *                       plugins (plugins.h), then the mutating webhooks; may
 *                       change the object
 *   (the caller prunes, defaults and validates by schema)
 *   admission_validate  limits, then the validating webhooks; looks only
 *   admission_commit    namespace lifecycle once more and ResourceQuota; the
 *                       store write follows at once
 *
 * The first two may wait for webhooks and therefore report through a
 * callback; where nothing has to be waited for it is called from inside. The
 * third never waits, so nothing can happen between it and the write: quotas
 * hold exactly however many requests were in the webhooks at the same time.
 *
 * Webhook configurations are read from the store and followed there. The
 * configurations themselves are not subject to webhooks, or a broken one
 * could not be removed any more.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct admission;
struct err;
struct fetcher;
struct kind;
struct kind_version;
struct loop;
struct quota;
struct registry;
struct status;
struct store;
struct user;

enum admission_op {
	ADMISSION_CREATE,
	ADMISSION_UPDATE,
	ADMISSION_DELETE,
	ADMISSION_CONNECT,
	ADMISSION_OP_COUNT,
};

/*
 * One write. The caller owns it, and all it points to, until the callback of
 * the gate it is in was called. Strings are never NULL: "" is "none". They may
 * be those of the object.
 */
struct admission_request {
	enum admission_op op;
	const struct kind *kind; /* what the URL names: pods, ... */
	const struct kind_version *version;
	const char *subresource; /* "status", "eviction", ... */
	const char *namespace_;
	/* Generated already; "" for a collection. Once a webhook has changed
	 * the object this points into it. */
	const char *name;
	const struct user *user;
	/* As the client's version has it; NULL for DELETE. The request holds a
	 * reference, which admission_mutate() may replace by another; before
	 * that it may change the object in place, so nobody else may use it. */
	json_t *object;
	json_t *old;     /* UPDATE, DELETE: what is stored; else NULL */
	json_t *options; /* CreateOptions, ... as the client gave; or NULL */
	bool dry_run;
	json_t *warnings; /* texts of webhooks are appended; an array, or NULL
			   * until the first; the caller's to release */
};

struct admission_config {
	struct loop *loop;
	struct store *store;
	struct registry *registry;
	struct fetcher *fetcher;
	/* Shown to webhooks that ask for a certificate, by which they know that
	 * it is the API server that asks; NULL: none. */
	const char *cert_pem, *key_pem;
};

/* Reads configurations and quotas from the store and follows them. Everything
 * of the configuration must outlive what is returned. */
struct admission *admission_new(const struct admission_config *config);
/* Requests that wait for a webhook are answered 503 from inside. NULL is
 * fine. */
void admission_free(struct admission *adm);

/* result is 0, or -1 with the answer in st, which the callee may take over and
 * must otherwise leave: it is released after the call. st is not NULL. */
typedef void (*admission_done)(int result, struct status *st, void *arg);

void admission_mutate(struct admission *adm, struct admission_request *req,
		      admission_done done, void *arg);
void admission_validate(struct admission *adm, struct admission_request *req,
			admission_done done, void *arg);

/*
 * The last word. On success the caller writes the object to the store with the
 * resource version rv, in the same turn of the loop, or does not write at all
 * and calls admission_revoke(). With dry_run nothing is charged, and rv does
 * not matter.
 */
int admission_commit(struct admission *adm, const struct admission_request *req,
		     uint64_t rv, struct status *st);
/* The write that admission_commit() allowed did not happen. */
void admission_revoke(struct admission *adm, uint64_t rv);

/* The quotas, for who wants to wait for their status. */
struct quota *admission_quota(struct admission *adm);

#endif
