/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/attributes.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/auth/user.h"
#include "meta/status.h"

static const char *
text(const char *s)
{
	return s ? s : "";
}

/* "User "x" cannot VERB resource "R" in API group "G" ...". */
static char *
sentence(const struct attributes *attr, const struct user *user)
{
	const char *sub = text(attr->subresource);
	const char *ns = text(attr->namespace_);
	AUTO(free_ptr) char *where = NULL;

	if (!attr->is_resource)
		return xasprintf("User \"%s\" cannot %s path \"%s\"",
				 user->name, text(attr->verb),
				 text(attr->path));
	where = *ns ? xasprintf("in the namespace \"%s\"", ns)
		    : xstrdup("at the cluster scope");
	return xasprintf("User \"%s\" cannot %s resource \"%s%s%s\" in API "
			 "group \"%s\" %s",
			 user->name, text(attr->verb), text(attr->resource),
			 *sub ? "/" : "", sub, text(attr->group), where);
}

int
attributes_forbid(const struct attributes *attr, const struct user *user,
		  const char *reason, struct status *st)
{
	AUTO(free_ptr) char *said = sentence(attr, user);
	AUTO(free_ptr)
	char *full =
		reason && *reason ? xasprintf("%s: %s", said, reason) : NULL;
	const char *why = full ? full : said;
	struct gr gr = { .group = attr->group, .resource = attr->resource };

	if (!attr->is_resource)
		return status_forbidden(st, NULL, NULL, why);
	return status_forbidden(st, &gr, attr->name, why);
}
