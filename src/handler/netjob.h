/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETJOB_H
#define HANDLER_NETJOB_H

/*
 * netjob - network_setup() for one machine, off the loop.
 *
 * Parts of it wait for processes in the pod, which the pod can stop: for as
 * long as their deadlines the machine's network is not there, and nobody else
 * waits. Each job has a thread of its own, so that pods do not wait for each
 * other either.
 *
 * Threading: only from the loop's thread.
 */

#include "handler/network/network.h"

struct err;
struct loop;
struct netjob;

/* In the loop's thread. The result is the callee's; NULL with an error. */
typedef void netjob_done_fn(void *arg, struct network_result *result,
			    const struct err *err);

struct netjob_config {
	struct loop *loop;
	/* All of it is copied, descriptors too, but for dnsmasq. */
	struct network_request request;
	/* What is done in the thread; NULL: network_setup(). For tests. */
	int (*setup)(const struct network_request *request,
		     struct network_result **ret_result, struct err *err);
	netjob_done_fn *done;
	void *arg;
};

/* Calls done() once, later. NULL on failure, and never then. */
struct netjob *netjob_start(const struct netjob_config *config,
			    struct err *err);

/* Of one that is not done: nobody is told, what is done in it goes on to its
 * end. The loop may be freed then. NULL is fine. */
void netjob_forget(struct netjob *job);

#endif
