/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_AUTHN_H
#define CLUSTER_AUTH_AUTHN_H

/*
 * authn - who is asking.
 *
 * Asked in this order, the first that knows the caller decides: the client
 * certificate (CN is the user, each O a group), the token file, ServiceAccount
 * tokens (satoken.h). Nobody is anonymous: without credentials, or with ones
 * that nobody knows, the answer is 401.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "cluster/auth/user.h"

struct authz;
struct err;
struct satoken;
struct status;

struct authn;

/* What came with the request; borrowed for the call. */
struct authn_credentials {
	bool has_cert; /* one that was verified against the client CA */
	const char *common_name;
	const char *const *organizations;
	size_t n_organizations;
	const char *authorization; /* the header's value, or NULL */
};

/*
 * token_file may be NULL: lines of token,user,uid[,"group1,group2"]. It is read
 * now and again whenever it has changed; a change that cannot be read leaves
 * the tokens as they were. satoken is borrowed, and may be NULL.
 */
struct authn *authn_new(const char *token_file, struct satoken *satoken,
			struct err *err);
void authn_free(struct authn *authn);

/* 0 and a user, one reference of which is the caller's; or -1 and a 401. */
int authn_request(struct authn *authn, const struct authn_credentials *creds,
		  struct user **ret_user, struct status *st);

/*
 * Who a token belongs to, for these audiences (none: the API server's own): 0
 * and a user, or -1 with the sentence in err. ret_audiences, which may be NULL,
 * gets those the token is good for (a list of strings, a new reference).
 */
int authn_token(struct authn *authn, const char *token, const json_t *audiences,
		struct user **ret_user, json_t **ret_audiences,
		struct err *err);

/*
 * Impersonation. Give each header of the request to impersonation_header()
 * (others than Impersonate-... are passed over), then let
 * impersonation_apply() replace *user: unchanged when none of them was there,
 * else the new user, provided that authz lets the old one speak for him. On
 * failure *user stays what it was.
 */
struct impersonation;

void impersonation_header(struct impersonation **imp, const char *name,
			  const char *value);
int impersonation_apply(const struct impersonation *imp, struct authz *authz,
			struct user **user, struct status *st);
void impersonation_free(struct impersonation **imp);

#endif
