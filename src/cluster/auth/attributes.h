/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_ATTRIBUTES_H
#define CLUSTER_AUTH_ATTRIBUTES_H

/*
 * attributes - what is asked for, as authorization sees it.
 *
 * All texts are borrowed and live as long as the call; one that is NULL counts
 * as empty.
 */

#include <stdbool.h>

struct status;
struct user;

struct attributes {
	bool is_resource; /* else only verb and path count */
	const char *verb; /* get, list, watch, create, ...; for a path the
			   * method in lower case */
	const char *group;
	const char *version;
	const char *resource;
	const char *subresource;
	const char *namespace_; /* empty: the cluster scope */
	const char *name;       /* empty for list, watch, create, ... */
	const char *path;
	/*
	 * The fieldSelector of a list or watch, not escaped. One that demands
	 * a metadata.name makes the request count as one for that name, as
	 * resourceNames and nodes need it.
	 */
	const char *field_selector;
};

/*
 * 403 with Kubernetes' sentence about this user and what he wanted; reason is
 * what authz_check() gave, and may be NULL. Returns -1.
 */
int attributes_forbid(const struct attributes *attr, const struct user *user,
		      const char *reason, struct status *st);

#endif
