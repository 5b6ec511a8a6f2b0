/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_TESTADMIT_H
#define CLUSTER_ADMIT_TESTADMIT_H

/*
 * testadmit - a store with kinds, and HTTPS servers, for the tests of
 * admission.
 *
 * Whatever goes wrong here fails the test.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "cluster/admit/admission.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/status.h"
#include "tls/pki.h"

struct fetcher;
struct http_request;
struct http_server;
struct loop;
struct loop_timer;
struct user;

struct world {
	char dir[64];
	struct loop *loop;
	struct loop_timer *deadline;
	struct store *store;
	struct registry *registry;
	struct fetcher *fetcher;
	struct user *user;     /* "tester", in the group "testers" */
	struct tls_pki_pem ca; /* of all servers */
	char *ca_bundle;       /* the same in base64 */
};

/* For cmocka; the namespace "w" exists. */
int world_set_up(void **state);
int world_tear_down(void **state);

/* JSON in which ' stands for ". */
json_t *world_parse(const char *text);

/* Creates or replaces; text as above, without resourceVersion. */
void world_put(struct world *w, const char *group, const char *plural,
	       const char *text);
void world_put_json(struct world *w, const char *group, const char *plural,
		    json_t *obj);
void world_remove(struct world *w, const char *group, const char *plural,
		  const char *ns, const char *name);
/* A new reference; NULL when there is none. */
json_t *world_get(const struct world *w, const char *group, const char *plural,
		  const char *ns, const char *name);
/* Everything durable, and all events delivered. */
void world_settle(struct world *w);

/* Runs the loop until something calls loop_stop(); 20 s at most. */
void world_run(struct world *w);

/* A request to create the object, or to update the one that is stored; fill in
 * what differs. The world's text form; released by world_request_done(). */
struct admission_request world_create(const struct world *w, const char *group,
				      const char *plural, const char *text);
struct admission_request world_update(const struct world *w, const char *group,
				      const char *plural, const char *text);
void world_request_done(struct admission_request *req);

/* The outcome of a gate. */
struct outcome {
	struct world *w;
	bool called;
	int result;
	struct status st;
};

/* For admission_mutate() and others: keeps the outcome, stops the loop. */
void outcome_done(int result, struct status *st, void *arg);
/* Runs the loop unless it has been called; 0 or -1. */
int outcome_wait(struct outcome *o);
void assert_outcome(struct outcome *o, int code, const char *reason,
		    const char *message);

/* A server for svc.w.svc, localhost and 127.0.0.1. */
struct backend {
	struct http_server *server;
	unsigned port;
};

void backend_start(struct backend *b, struct world *w,
		   void (*handle)(struct http_request *req, void *arg),
		   void *arg);
void backend_stop(struct backend *b);
/* A port of 127.0.0.1 on which nobody listens. */
unsigned backend_free_port(void);

#endif
