/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_HANDLER_H
#define HANDLER_HANDLER_H

/*
 * handler - the agent of a node: its machines, their launchers, its
 * ferry-proxy.
 *
 * Follows the machines that run on the node or are received by it, by their
 * labels, and the launchers' pods that are bound to it. Each machine is looked
 * at when something about it changes: facts are gathered, decide() says what
 * is to be done, and one thing of that is done; see decision.h.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"
#include "http/health.h"

struct cache_object;
struct err;
struct events;
struct handler;
struct host;
struct kube_client;
struct kube_config;
struct loop;
struct meter;
struct pod;
struct proxyctl;
struct vmi;

struct handler_options {
	struct loop *loop;
	struct kube_config *config; /* taken */
	const char *node;           /* the node's name */
	const char *kubelet_root;
	const char *proxy_control; /* ferry-proxy's control socket */
	const char *host_dir;      /* what `ferry-launcher probe` wrote */
	const char *address;       /* for migrations; NULL: the proxy's */
	const char *ns;            /* of the KubeVirt object */
	const char *dnsmasq;       /* program; NULL: the usual one */
	struct health_options health;
};

/* Nothing of the options is copied. NULL when host_dir cannot be used, or
 * nothing can be served where it should be. */
struct handler *handler_start(const struct handler_options *options,
			      struct err *err);
/* What runs goes on without it. NULL is fine. */
void handler_free(struct handler *handler);
/* All that it follows has been listed, and ferry-proxy answers. */
bool handler_is_ready(const struct handler *handler);
/* All that it follows has been listed, and it is known whether ferry-proxy
 * answers. */
bool handler_is_settled(const struct handler *handler);
size_t handler_machines(const struct handler *handler);
/* Of what it serves; 0 for nothing. */
uint16_t handler_port(const struct handler *handler);

/* For machine.c and steps.c. */

/* A machine as it was last seen; of its kind's cache. */
struct seen_vmi {
	struct vmi *vmi; /* NULL when it cannot be understood */
	json_t *object;
};

const struct handler_options *handler_options(const struct handler *handler);
struct kube_client *handler_client(const struct handler *handler);
struct events *handler_events(const struct handler *handler);
struct proxyctl *handler_proxy(const struct handler *handler);
struct meter *handler_meter(struct handler *handler);
const struct host *handler_host(const struct handler *handler);
/* NULL: neither runs here nor is received here, as far as one can see. */
const struct seen_vmi *handler_vmi(const struct handler *handler,
				   const char *key);
/*
 * The newest pod of the name on this node, one that has not ended before one
 * that has; NULL. Only of this machine, and only one made to receive it by this
 * migration, unless these are "": names are used again.
 */
const struct pod *handler_pod(const struct handler *handler, const char *key,
			      const char *vmi_uid, const char *migration_uid);
/* There is a machine of this uid here, or something that is left of one; or it
 * is the key of a probe that goes on. */
bool handler_knows(const struct handler *handler, const char *vmi_uid);
/* Looks at a machine, now or in a while. */
void handler_poke(struct handler *handler, const char *key, uint64_t delay_ms);
/* The look at a machine is over; failed: again after a pause. */
void handler_looked(struct handler *handler, const char *key, bool failed);

#endif
