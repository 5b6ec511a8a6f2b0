/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_AUTHN_H
#define CLUSTER_AUTH_AUTHN_H

/*
 * authn - who is asking.
 *
 * Asked in this order, the first that knows the caller decides: the client
 * certificate (CN is the user, each O a group), the token file, ServiceAccount
 * tokens (tokens.h). Nobody is anonymous: without credentials, or with ones
 * that nobody knows, the answer is 401.
 *
 * Threading: only from the loop's thread.
 */

#include <stddef.h>

#include "base/js.h"
#include "cluster/auth/user.h"

struct err;
struct status;
struct tls_https_peer;
struct tokens;

struct authn;

/*
 * token_file may be NULL: lines of token,user,uid[,"group1,group2"]. It is read
 * now, and again whenever it has changed; a change that cannot be read is
 * logged and leaves the tokens as they were. tokens is borrowed, and may be
 * NULL. NULL when the file cannot be read.
 */
struct authn *authn_new(const char *token_file, struct tokens *tokens,
			struct err *err);
void authn_free(struct authn *authn); /* NULL is fine */

/*
 * peer is that of the connection; authorization the value of the header, or
 * NULL. 0 and a user, one reference of which is the caller's; or -1 and a 401.
 */
int authn_request(struct authn *authn, const struct tls_https_peer *peer,
		  const char *authorization, struct user **ret_user,
		  struct status *st);

/*
 * Who a token belongs to, for these audiences (a list of strings; NULL or
 * empty: the API server's own): 0 and a user, or -1 with the sentence in err.
 * ret_audiences gets those of them the token is good for (a list of strings, a
 * new reference).
 */
int authn_token(struct authn *authn, const char *token, const json_t *audiences,
		struct user **ret_user, json_t **ret_audiences,
		struct err *err);

#endif
