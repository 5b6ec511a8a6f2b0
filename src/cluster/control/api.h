/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_API_H
#define CLUSTER_CONTROL_API_H

/*
 * api - requests of one controller, under its own name.
 *
 * done is called exactly once for each call. When the controller goes, that is
 * at once, with the code 0; an answer that still comes is dropped.
 */

#include <stdbool.h>

#include "base/js.h"

struct api;
struct kind;
struct server;

typedef void api_done_fn(int code, const json_t *answer, void *arg);

#define API_MERGE "application/merge-patch+json"
#define API_STRATEGIC "application/strategic-merge-patch+json"

struct api_call {
	const char *method;
	const char *path;
	json_t *body;             /* taken; NULL: none */
	const char *content_type; /* NULL: JSON */
	api_done_fn *done;        /* NULL: nobody asks */
	void *arg;
};

/* user is copied; the groups are system:masters, as the controllers are part
 * of the server. */
struct api *api_new(struct server *server, const char *user);
/* Ends all that is in flight; whatever is sent from now on ends at once. First
 * of all, when a controller stops. */
void api_close(struct api *api);
void api_free(struct api *api); /* NULL is fine; nothing may be in flight */

void api_send(struct api *api, const struct api_call *call);

/* "/apis/G/V/namespaces/NS/PLURAL/NAME" of the kind's storage version; ns or
 * name "" or NULL: without. To be freed. */
char *api_path(const struct kind *kind, const char *ns, const char *name);

/* Whether an answer means that it is done: any success. */
bool api_ok(int code);
/* Whether trying again cannot help or need not: it is gone, or has changed, so
 * that an event will come or has come; or the controller stops. */
bool api_stale(int code);

#endif
