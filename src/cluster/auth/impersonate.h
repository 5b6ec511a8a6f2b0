/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_IMPERSONATE_H
#define CLUSTER_AUTH_IMPERSONATE_H

/*
 * impersonate - acting for somebody else: the headers Impersonate-User,
 * Impersonate-Uid, Impersonate-Group and Impersonate-Extra-NAME.
 *
 * Each of them needs the verb impersonate on what it names.
 */

#include <stddef.h>

struct authz;
struct http_header;
struct status;
struct user;

/* More of these headers in one request are refused. */
#define IMPERSONATE_HEADERS_MAX 64

/*
 * Replaces *user by the one the headers name, if any. After authentication and
 * before authorization. On failure (-1 and a 403, or a 500 as Kubernetes gives
 * for headers that make no sense) *user is what it was.
 */
int impersonate(struct authz *authz, const struct http_header *headers,
		size_t count, struct user **user, struct status *st);

#endif
