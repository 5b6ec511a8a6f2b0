/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_INFO_H
#define CLUSTER_INFO_H

/*
 * info - what a request is about, read off its method, path and query.
 *
 * The same words authorization uses: a verb, and either a resource (group,
 * version, namespace, resource, name, subresource) or a plain path. Nothing is
 * looked up: whether the resource exists is found out later, after it is known
 * that the caller may ask.
 */

#include <stdbool.h>
#include <stddef.h>

#include "cluster/kinds/kind.h"

struct status;

/* Longest path that is looked at; names alone may have 253 characters. */
#define INFO_PATH_MAX 4096

struct info {
	unsigned verb; /* one of enum verb; 0: the method has none */
	bool is_resource;
	bool legacy_watch; /* /api/v1/watch/... */
	/* None of these is NULL; "" where the path has none. */
	const char *group;
	const char *version;
	const char *namespace_;
	const char *resource;
	const char *name;
	const char *subresource; /* "status", "proxy/a/b" */
	const char *path;        /* decoded */
	const char *method;      /* lower case: the verb of a plain path */
	char *storage;           /* what the texts above point into */
};

/*
 * Fills *ret from the method ("GET"), the raw path and whether the query asks
 * for a watch. ERR: a path that cannot be decoded or is too long is a 400.
 * The caller frees with info_done(); also after a failure.
 */
int info_parse(const char *method, const char *raw_path, bool watch,
	       struct info *ret, struct status *st);
void info_done(struct info *info);

#endif
