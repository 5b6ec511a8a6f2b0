/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/authn.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "cluster/auth/tokenfile.h"
#include "cluster/auth/tokens.h"
#include "meta/status.h"
#include "tls/https.h"
#include "tls/jwt.h"

struct authn {
	struct tokenfile *file;
	struct tokens *tokens;
};

struct authn *
authn_new(const char *token_file, struct tokens *tokens, struct err *err)
{
	struct authn *authn = xmalloc0(sizeof(*authn));

	authn->tokens = tokens;
	if (token_file) {
		authn->file = tokenfile_new(token_file, err);
		if (!authn->file) {
			free(authn);
			return NULL;
		}
	}
	return authn;
}

void
authn_free(struct authn *authn)
{
	if (!authn)
		return;
	tokenfile_free(authn->file);
	free(authn);
}

/* The token of "Bearer TOKEN", to be freed; NULL when there is none. */
static char *
bearer(const char *authorization)
{
	static const char scheme[] = "bearer";
	const char *p = authorization;

	if (!p)
		return NULL;
	p += strspn(p, " ");
	if (strncasecmp(p, scheme, strlen(scheme)) != 0)
		return NULL;
	p += strlen(scheme);
	if (*p++ != ' ')
		return NULL;
	if (!*p || *p == ' ')
		return NULL;
	return xstrndup(p, strcspn(p, " "));
}

int
authn_request(struct authn *authn, const struct tls_https_peer *peer,
	      const char *authorization, struct user **ret_user,
	      struct status *st)
{
	AUTO(free_ptr) char *token = NULL;
	AUTO(js_unref) json_t *audiences = NULL;
	struct err err;

	if (peer->verified && *peer->common_name) {
		*ret_user = user_authenticated(
			peer->common_name, NULL,
			(const char *const *)peer->organizations,
			peer->organization_count);
		return 0;
	}
	token = bearer(authorization);
	if (!token ||
	    authn_token(authn, token, NULL, ret_user, &audiences, &err) == -1)
		return status_unauthorized(st);
	return 0;
}

int
authn_token(struct authn *authn, const char *token, const json_t *audiences,
	    struct user **ret_user, json_t **ret_audiences, struct err *err)
{
	struct user *user =
		authn->file ? tokenfile_find(authn->file, token) : NULL;

	if (user) {
		/* Written down for this server, so good for it alone. */
		if (tokens_audiences(authn->tokens, NULL, audiences,
				     ret_audiences, err) == -1)
			return -1;
		*ret_user = user_ref(user);
		return 0;
	}
	if (!authn->tokens || strlen(token) > JWT_TOKEN_MAX)
		return err_set(err, ERR_DENIED, "invalid bearer token");
	return tokens_verify(authn->tokens, token, audiences, ret_user,
			     ret_audiences, err);
}
