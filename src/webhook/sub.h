/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_SUB_H
#define WEBHOOK_SUB_H

/*
 * sub - the subresources of machines, which the API server hands on to this
 * program: /apis/subresources.kubevirt.io/V/namespaces/NS/RESOURCE/NAME/SUB.
 *
 * Who asks is believed as trust.h says; whether he may is asked of the API
 * server (access.h). Then what the subresource needs is read, a plan is made of
 * it (plan.h), and its steps are written. When something changed in between,
 * all of this is done again, SUB_TRIES times in all.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "webhook/call.h"
#include "webhook/plan.h"

struct api;
struct http_request;

#define SUB_GROUP "subresources.kubevirt.io"
#define SUB_TRIES 3

/* What is read; the first two are needed, and missing is 404. */
enum {
	SUB_VM = 1 << 0,
	SUB_VMI = 1 << 1,
	SUB_MAYBE_VM = 1 << 2,
	SUB_MAYBE_VMI = 1 << 3,
	SUB_NODE = 1 << 4, /* of the VMI */
	SUB_PODS = 1 << 5, /* of the VMI, where plan_is_forced() */
};

struct sub_route {
	const char *resource; /* "virtualmachines" */
	const char *name;     /* "evacuate/cancel" */
	const char *kind;     /* what discovery says of it */
	plan_fn *plan;
	unsigned reads;
	enum stat_route stat;
};

extern const struct sub_route sub_routes[];
extern const size_t sub_route_count;

/* The versions that are served, the preferred one first; ended by NULL. */
extern const char *const sub_versions[];

/* A path taken apart. */
struct sub_path {
	const char *version; /* one of sub_versions */
	const struct sub_route *route;
	char *ns, *name;
};

/* False when it leads nowhere. Otherwise both texts are the caller's. */
bool sub_parse(const char *path, struct sub_path *ret);

/* Answers the request; takes ns and name. */
void sub_handle(const struct sub_path *path, struct api *api,
		struct http_request *http);

#endif
