/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_ADMIT_H
#define WEBHOOK_ADMIT_H

/*
 * admit - the admission webhooks: one row for each, by KubeVirt's paths and
 * names. The routes and the registrations (manifests.h) are made of the same
 * rows.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "webhook/call.h"

struct api;
struct http_request;

#define ADMIT_OPERATIONS_MAX 2
#define ADMIT_REGISTRATIONS_MAX 2

/* How the API server is told to ask. */
struct admit_registration {
	const char *name; /* "migrations-mutator.kubevirt.io"; NULL ends */
	const char *operations; /* "CREATE,UPDATE" */
	/* An expression and its name, for servers that know them; NULL: none.
	 * They only save calls: without them the answer is the same. */
	const char *match_name;
	const char *match;
};

struct admit_route {
	const char *path;
	const char *group, *resource, *subresource; /* it is asked about */
	bool mutating;
	bool writes; /* has effects, but none in a dry run */
	/* Others write such objects all the time: where the server cannot tell
	 * by the expression whom it is to ask about, they must not be stopped
	 * by there being no answer. */
	bool shared;
	enum stat_route stat;
	call_fn *run;
	struct admit_registration as[ADMIT_REGISTRATIONS_MAX];
};

extern const struct admit_route admit_routes[];
extern const size_t admit_route_count;

/* NULL when the path is none of theirs. */
const struct admit_route *admit_find(const char *path);
/* Answers the request, sooner or later. */
void admit_handle(const struct admit_route *route, struct api *api,
		  struct http_request *http);

/* The functions of the rows. */
void admit_migration_mutate(struct call *call);
void admit_migration_create(struct call *call);
void admit_migration_update(struct call *call);
void admit_vmi_mutate(struct call *call);
void admit_vmi_create(struct call *call);
void admit_vmi_update(struct call *call);
void admit_vm_mutate(struct call *call);
void admit_vm_validate(struct call *call);
void admit_policy(struct call *call);
void admit_kubevirt(struct call *call);
void admit_eviction(struct call *call);
void admit_path_probe(struct call *call);
void admit_node(struct call *call);

#endif
