/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_CONTROLLER_H
#define CONTROLLER_CONTROLLER_H

/*
 * controller - one process of ferry-controller: the client, the lease, the
 * world and, while this process leads, the controllers.
 *
 * The lead can be lost at any time, for instance when the API server is away
 * for longer than the lease. The controllers are freed then and made anew when
 * it is won again; the world stays.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "http/health.h"

struct controller;
struct err;
struct kube_config;
struct loop;

#define CONTROLLER_LEASE "virt-controller"
#define CONTROLLER_NAMESPACE "kubevirt"

/* All texts are copied. */
struct controller_options {
	struct loop *loop;
	struct kube_config *config; /* taken, on failure too */
	const char *ns;             /* of the Lease and the KubeVirt object */
	const char *identity;       /* NULL: made of host and chance */
	const char *launcher_image;
	const char *launcher_command; /* NULL: the one in the image */
	/* 0 stands for the default of kube/client.h and kube/leader.h. */
	unsigned qps, burst, in_flight, timeout_ms;
	unsigned lease_ms, renew_ms, retry_ms;
	struct health_options health;
};

/* NULL when it cannot listen. */
struct controller *controller_start(const struct controller_options *options,
				    struct err *err);
/* Gives the lead to another; done is called when that is over. */
void controller_stop(struct controller *controller, void (*done)(void *arg),
		     void *arg);
void controller_free(struct controller *controller); /* NULL is fine */

/* Where it serves metrics; 0 when it does not. */
uint16_t controller_port(const struct controller *controller);

#endif
