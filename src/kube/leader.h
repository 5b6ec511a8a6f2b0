/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_LEADER_H
#define KUBE_LEADER_H

/*
 * leader - one of several, elected by a Lease.
 *
 * As client-go does it, and together with it: who holds the Lease renews it
 * every retry_ms; who does not takes it when it was not seen to change for its
 * leaseDurationSeconds, by his own clock, since others' clocks may be wrong. A
 * write is conditional on what was read, so one wins.
 *
 * A leader that could not renew for renew_ms, counted from before its last
 * renewal was sent, steps down; that is before anybody else may take over. The
 * clock goes on while the machine sleeps. Since a process can be held up at any
 * point, leader_leads() looks at the clock itself: it is what may_write of
 * client.h is for.
 *
 * Its requests go before all others of the client.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct leader;

#define LEADER_LEASE_MS 15000
#define LEADER_RENEW_MS 10000
#define LEADER_RETRY_MS 2000

/* All texts are copied. */
struct leader_config {
	struct kube_client *client;
	const char *ns;
	const char *name;     /* of the Lease */
	const char *identity; /* who this is; different for each process */
	/* 0 stands for the default. retry < renew < lease; the lease is
	 * written in whole seconds. */
	unsigned lease_ms;
	unsigned renew_ms;
	unsigned retry_ms;
	void (*started)(void *arg); /* leads from now on */
	/* Leads no more. It goes on trying, unless it is being stopped. */
	void (*stopped)(void *arg);
	/* Somebody else holds it, or nobody (""); may be NULL. */
	void (*changed)(const char *holder, void *arg);
	void *arg;
};

struct leader *leader_new(const struct leader_config *config);
/* Without giving the Lease back: others wait for its end. NULL is fine. */
void leader_free(struct leader *leader);

/*
 * Steps down (stopped is called within, if it led), and gives the Lease back
 * so that another can take it at once. done is called when that is over,
 * whether it worked or not, from the loop.
 */
void leader_stop(struct leader *leader, void (*done)(void *arg), void *arg);

/* Whether it leads, as of now. */
bool leader_leads(const struct leader *leader);
/* The same for kube_client_options.may_write; arg is the leader. */
bool leader_may_write(void *leader);
/* Who holds the Lease, as last seen; "" when nobody does. */
const char *leader_holder(const struct leader *leader);

/* HOST_RANDOM, different for each call; to be freed. */
char *leader_make_identity(void);

#endif
