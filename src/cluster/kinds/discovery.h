/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_DISCOVERY_H
#define CLUSTER_KINDS_DISCOVERY_H

/*
 * discovery - which groups, versions and resources there are: /api, /apis and
 * below.
 *
 * Made from the registry when asked for and kept until its generation changes.
 * The groups of APIServices (aggregation) are added from outside.
 *
 * Threading: the main loop's thread.
 */

#include <stdbool.h>

#include "base/js.h"
#include "cluster/kinds/document.h"

struct discovery;
struct registry;

enum discovery_form {
	DISCOVERY_PLAIN,
	DISCOVERY_V2BETA1, /* APIGroupDiscoveryList */
	DISCOVERY_V2,
	DISCOVERY_FORM_COUNT,
};

/* address ("10.0.0.1:6443") is what /api says of the server. */
struct discovery *discovery_new(const struct registry *registry,
				const char *address);
void discovery_free(struct discovery *discovery);
void discovery_set_address(struct discovery *discovery, const char *address);

/* The form that an Accept header (NULL: none) prefers for /api and /apis. */
enum discovery_form discovery_form(const char *accept);

/*
 * path is "/api", "/api/v1", "/apis", "/apis/G" or "/apis/G/V"; form counts for
 * "/api" and "/apis" only. NULL if there is nothing at the path.
 */
const struct document *discovery_document(struct discovery *discovery,
					  const char *path,
					  enum discovery_form form);

struct discovery_external {
	const char *group, *version;
	/* The APIResourceList that the other server answers, NULL while it does
	 * not: the group is shown, and the version without resources. Not
	 * taken. */
	const json_t *resources;
	/* spec.groupPriorityMinimum and spec.versionPriority */
	int group_priority, version_priority;
};

/* Adds or replaces a version of a group that another server serves. */
void discovery_set_external(struct discovery *discovery,
			    const struct discovery_external *external);
void discovery_remove_external(struct discovery *discovery, const char *group,
			       const char *version);

#endif
