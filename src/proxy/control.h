/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_CONTROL_H
#define PROXY_CONTROL_H

/*
 * control - the methods of the control socket. See ferry-proxy-control(5).
 */

#include <stddef.h>

#include "rpc/session.h"

struct proxy;
struct sandbox;

struct control {
	struct proxy *proxy;
	const struct sandbox *sandbox;
	void (*drain)(void *arg); /* what the method of that name does */
	void *drain_arg;
};

extern const struct rpc_method control_methods[];
extern const size_t control_n_methods;

#endif
