/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/impersonate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/auth/authz.h"
#include "http/server.h"
#include "meta/status.h"

#define PREFIX "Impersonate-"
#define EXTRA_PREFIX "Impersonate-Extra-"
#define GROUP_AUTHENTICATION "authentication.k8s.io"
#define UNAUTHENTICATED "system:unauthenticated"
#define ANONYMOUS "system:anonymous"

/* What the headers ask for; the texts are theirs. */
struct wish {
	const char *user;
	const char *uid;
	const struct http_header *list[IMPERSONATE_HEADERS_MAX];
	size_t count; /* of list: groups and extras, in order */
};

static bool
is_extra(const struct http_header *header)
{
	return strncasecmp(header->name, EXTRA_PREFIX, strlen(EXTRA_PREFIX)) ==
	       0;
}

/* The headers that matter; -1 when there are too many, or unknown ones. */
static int
read_wish(const struct http_header *headers, size_t count, struct wish *ret,
	  struct status *st)
{
	*ret = (struct wish){ 0 };
	for (size_t i = 0; i < count; i++) {
		const struct http_header *h = &headers[i];

		if (strncasecmp(h->name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		if (strcasecmp(h->name, PREFIX "User") == 0) {
			ret->user = h->value;
		} else if (strcasecmp(h->name, PREFIX "Uid") == 0) {
			ret->uid = h->value;
		} else if (strcasecmp(h->name, PREFIX "Group") == 0 ||
			   is_extra(h)) {
			if (ret->count == IMPERSONATE_HEADERS_MAX)
				return status_bad_request(
					st, "too many impersonation headers");
			ret->list[ret->count++] = h;
		}
	}
	return 0;
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The name of an extra: lower case, and %2f stands for a slash. */
static char *
extra_name(const struct http_header *header)
{
	char *name = xstrdup(header->name + strlen(EXTRA_PREFIX));
	char *out = name;

	for (const char *p = name; *p; p++) {
		int high = *p == '%' ? digit(p[1]) : -1;
		int low = high >= 0 ? digit(p[2]) : -1;

		if (low > 0 || (low == 0 && high > 0)) {
			*out++ = (char)(high * 16 + low);
			p += 2;
		} else {
			*out++ = (char)tolower((unsigned char)*p);
		}
	}
	*out = '\0';
	return name;
}

static int
require(struct authz *authz, const struct user *user, struct attributes attr,
	struct status *st)
{
	attr.is_resource = true;
	attr.verb = "impersonate";
	attr.version = "v1";
	return authz_require(authz, user, &attr, st);
}

/* Starts the new user with his name, once that is allowed. */
static int
take_name(struct authz *authz, const struct user *user, const struct wish *wish,
	  struct user **ret, struct status *st)
{
	AUTO(free_ptr) char *ns = NULL;
	const char *name;
	struct attributes attr = { .resource = "users", .name = wish->user };

	if (user_name_is_service_account(wish->user, &ns, &name))
		attr = (struct attributes){ .resource = "serviceaccounts",
					    .namespace_ = ns,
					    .name = name };
	if (require(authz, user, attr, st) == -1)
		return -1;
	*ret = user_new(wish->user, wish->uid);
	return 0;
}

static int
take_one(struct authz *authz, const struct user *user,
	 const struct http_header *header, struct user *now, struct status *st)
{
	AUTO(free_ptr) char *extra = NULL;
	struct attributes attr = { .resource = "groups",
				   .name = header->value };

	if (is_extra(header)) {
		extra = extra_name(header);
		attr.group = GROUP_AUTHENTICATION;
		attr.resource = "userextras";
		attr.subresource = extra;
	}
	if (require(authz, user, attr, st) == -1)
		return -1;
	if (extra)
		user_add_extra(now, extra, header->value);
	else
		user_add_group(now, header->value);
	return 0;
}

/* The groups that nobody has to name. */
static void
complete_groups(struct user *now)
{
	AUTO(free_ptr) char *ns = NULL;
	const char *name;

	if (!now->n_groups) {
		if (user_name_is_service_account(now->name, &ns, &name)) {
			AUTO(free_ptr)
			char *group = xasprintf(USER_SA_GROUP ":%s", ns);

			user_add_group(now, USER_SA_GROUP);
			user_add_group(now, group);
		} else if (strcmp(now->name, ANONYMOUS) == 0) {
			user_add_group(now, UNAUTHENTICATED);
		}
	}
	if (strcmp(now->name, ANONYMOUS) != 0 &&
	    !user_in_group(now, UNAUTHENTICATED))
		user_add_group(now, USER_ALL_AUTHENTICATED);
}

static int
no_user(const struct wish *wish, struct status *st)
{
	const char *what = wish->count ? wish->list[0]->name : PREFIX "Uid";

	return status_internal(st, "requested %s without impersonating a user",
			       what);
}

int
impersonate(struct authz *authz, const struct http_header *headers,
	    size_t count, struct user **user, struct status *st)
{
	AUTO(user_release) struct user *now = NULL;
	struct wish wish;

	if (read_wish(headers, count, &wish, st) == -1)
		return -1;
	if (!wish.user || !*wish.user)
		return wish.uid || wish.count ? no_user(&wish, st) : 0;
	if (take_name(authz, *user, &wish, &now, st) == -1)
		return -1;
	if (wish.uid) {
		const struct attributes attr = { .group = GROUP_AUTHENTICATION,
						 .resource = "uids",
						 .name = wish.uid };

		if (require(authz, *user, attr, st) == -1)
			return -1;
	}
	for (size_t i = 0; i < wish.count; i++) {
		if (take_one(authz, *user, wish.list[i], now, st) == -1)
			return -1;
	}
	complete_groups(now);
	user_unref(*user);
	*user = TAKE_PTR(now);
	return 0;
}
