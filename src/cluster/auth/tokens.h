/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_TOKENS_H
#define CLUSTER_AUTH_TOKENS_H

/*
 * tokens - the tokens of ServiceAccounts: JWTs with Kubernetes' claims.
 *
 * A token is good while its ServiceAccount exists with the same uid and, when
 * it is bound to a pod, secret or node, that exists too; both are looked up in
 * the store each time. Signatures that were found right are remembered, since
 * checking one takes longer than everything else in a request.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"

struct err;
struct jwt_key;
struct status;
struct store;
struct user;

struct tokens;

struct tokens_config {
	struct store *store; /* borrowed */
	struct jwt_key *key; /* borrowed; signs and verifies */
	const char *issuer;  /* the claim iss, and the audience of the
			      * API server; copied */
};

struct tokens *tokens_new(const struct tokens_config *config);
void tokens_free(struct tokens *tokens);

/* Who the token belongs to; the contract is that of authn_token(). */
int tokens_verify(struct tokens *tokens, const char *token,
		  const json_t *audiences, struct user **ret_user,
		  json_t **ret_audiences, struct err *err);

/*
 * Which of the audiences asked for (NULL or empty: the API server's own) are
 * among those a token is good for (NULL: the API server's own): *ret, a list of
 * strings and a new reference, or -1 when there are none. tokens may be NULL: a
 * server that issues no tokens has no audience, and does not look.
 */
int tokens_audiences(const struct tokens *tokens, const json_t *good_for,
		     const json_t *asked, json_t **ret, struct err *err);

/*
 * serviceaccounts/NAME/token: answers a TokenRequest. request is only read; its
 * spec.audiences, spec.expirationSeconds and spec.boundObjectRef count. *ret
 * is the TokenRequest with its status, a new reference.
 */
int tokens_request(struct tokens *tokens, const char *ns, const char *name,
		   const json_t *request, json_t **ret, struct status *st);

#endif
