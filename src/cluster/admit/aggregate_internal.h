/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_AGGREGATE_INTERNAL_H
#define CLUSTER_ADMIT_AGGREGATE_INTERNAL_H

/*
 * aggregate_internal - what the files of aggregate.h share.
 *
 *   aggregate.c        which APIServices there are, and what became of them
 *   aggregate_check.c  whether one is available
 *   aggregate_proxy.c  requests on their way to it
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"
#include "base/map.h"
#include "cluster/admit/aggregate.h"
#include "cluster/admit/service.h"

struct collection;
struct fetch;
struct fetch_header;
struct loop_timer;
struct object;
struct proxied;
struct subscription;

/* An APIService that hands its group version to a service. */
struct remote {
	struct map_node node;
	struct aggregate *agg;
	char *name; /* "v1.group" */
	char *group, *version;
	char *service_ns, *service_name;
	uint16_t service_port;
	char *ca_pem; /* NULL: the CAs of the system */
	bool insecure;
	json_t *spec;
	bool available;
	json_t *resources; /* an APIResourceList, or NULL */
	struct fetch *check;
	struct loop_timer *timer;
	unsigned retry_ms; /* until the next check after a failure */
	unsigned turn;     /* among several endpoints */
};

struct aggregate {
	struct aggregate_config config;
	char *cert_pem, *key_pem;
	struct collection *collection;
	struct subscription *on_apiservice;
	struct subscription *on_service;
	struct subscription *on_endpoints;
	struct map remotes;
	struct proxied *proxied; /* requests that are under way */
};

/* The condition Available of an APIService, as it is now. */
struct available {
	const char *status; /* "True", "False" */
	const char *reason;
	const char *message;
};

/* NULL if there is none. */
struct remote *aggregate_find(const struct aggregate *agg, const char *group,
			      const char *version);

/* Checks now, whatever was planned. */
void remote_check(struct remote *remote);
/* Forgets the check that is under way or planned. */
void remote_check_stop(struct remote *remote);
struct service_ref remote_service(const struct remote *remote);

/* Writes the condition unless it is there already. */
void aggregate_set_available(struct aggregate *agg, const char *name,
			     const struct available *available);
/* Tells discovery what it should show of the group version. */
void remote_show(struct remote *remote);

/* Cuts all requests. */
void proxied_end_all(struct aggregate *agg);

#endif
