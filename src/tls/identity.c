/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/identity.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

#define NAME_MAX_LEN 253 /* of a Kubernetes node */

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

static bool
is_uri(const char *s)
{
	size_t scheme = strspn(s, LOWER DIGIT "+.-");
	const char *rest = s + scheme + 3;

	if (scheme == 0 || strchr(LOWER, s[0]) == NULL ||
	    strncmp(s + scheme, "://", 3) != 0)
		return false;
	return rest[0] != '\0' &&
	       rest[strspn(rest, LOWER UPPER DIGIT "-._~:/@!$&'()*+,;=%")] ==
		       '\0';
}

int
tls_identity_uri(const char *node_or_uri, char *buf, size_t size,
		 struct err *err)
{
	const char *prefix = TLS_IDENTITY_PREFIX;
	int n;

	if (strstr(node_or_uri, "://") != NULL) {
		if (!is_uri(node_or_uri))
			return err_set(err, ERR_INVALID,
				       "'%.200s' is not a node's URI",
				       node_or_uri);
		prefix = "";
	} else if (!str_is_name(node_or_uri, NAME_MAX_LEN)) {
		return err_set(err, ERR_INVALID, "'%.200s' is not a node name",
			       node_or_uri);
	}
	n = snprintf(buf, size, "%s%s", prefix, node_or_uri);
	if (n < 0 || (size_t)n >= size)
		return err_set(err, ERR_INVALID,
			       "the identity of node '%.200s' is too long",
			       node_or_uri);
	return 0;
}
