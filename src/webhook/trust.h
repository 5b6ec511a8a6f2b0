/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_TRUST_H
#define WEBHOOK_TRUST_H

/*
 * trust - whom this server believes when it says who somebody is.
 *
 * An aggregated server is called by the API server, which names the user in
 * headers. They count only on a connection with a certificate of the
 * requestheader CA whose name is one of those allowed. CA, names and headers
 * are given by the operator, or are those that the cluster publishes in the
 * ConfigMap extension-apiserver-authentication in kube-system, which is looked
 * at every TRUST_LOOK_MS. Without either nobody is believed.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"
#include "base/opts.h"

struct err;
struct http_request;
struct kube_client;
struct trust;

#define TRUST_LOOK_MS 30000
#define TRUST_LOOK_FIRST_MS 250 /* while nothing is known */
#define TRUST_NAMES_MAX 16      /* names, and headers of each kind */
#define TRUST_GROUPS_MAX 1024

struct trust_config {
	struct kube_client *client;
	/* PEM text of the operator's, copied; NULL: the cluster's. */
	const char *ca_pem;
	/* With ca_pem: empty means any certificate of the CA. */
	const struct opts_list *allowed_names;
	/* Called when the CA is another, also the first time if it comes
	 * later. */
	void (*changed)(void *arg);
	void *arg;
};

struct trust *trust_new(const struct trust_config *config);
void trust_free(struct trust *trust); /* NULL is fine */

/* The CA of the certificates that are asked for; NULL: none is known. */
const char *trust_ca(const struct trust *trust);
/* Whether the answer to what is to be believed is there; there being nothing
 * is one too. */
bool trust_is_known(const struct trust *trust);

/*
 * Who the request is from: {"user","uid","groups","extra"} as in the spec of a
 * SubjectAccessReview, a new reference. NULL when it is from nobody who is
 * believed, or has no name.
 */
json_t *trust_user(const struct trust *trust, const struct http_request *req);

/* What a ConfigMap says; for trust.c and its test. Texts and lists are those
 * of the object, NULL where it does not say them. */
struct trust_rules {
	char *ca_pem; /* NULL: nobody is believed */
	json_t *allowed_names;
	json_t *user_headers, *uid_headers, *group_headers, *extra_prefixes;
};

/* On failure *ret is not touched. */
int trust_rules_read(const json_t *configmap, struct trust_rules *ret,
		     struct err *err);
void trust_rules_done(struct trust_rules *rules);
json_t *trust_rules_user(const struct trust_rules *rules,
			 const struct http_request *req);

#endif
