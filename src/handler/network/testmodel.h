/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_TESTMODEL_H
#define HANDLER_NETWORK_TESTMODEL_H

/*
 * testmodel - a network namespace that only exists in memory: facts, and what
 * the steps of a plan do to them as the kernel would.
 */

#include "base/err.h"
#include "base/test.h"
#include "handler/network/netfacts.h"
#include "handler/network/op.h"
#include "handler/network/want.h"

struct model {
	struct netfacts facts;
	int next_index;
};

/* With a loopback that is up. The caller calls model_done(). */
struct model model_new(void);
struct model model_copy(const struct model *model);
void model_done(struct model *model);

/* An interface of the pod, up; ip and gateway may be NULL. */
void model_attach(struct model *model, const char *name, const char *mac,
		  const char *ip, const char *gateway);
struct link *model_link(struct model *model, const char *name);
void model_address(struct model *model, const char *link, const char *ip);
void model_route(struct model *model, const char *link, const char *to,
		 const char *gateway);

/* Fails the test when the kernel would refuse. */
void model_apply(struct model *model, const struct op *op);

/* All of it as text, in an order that does not depend on history; the caller
 * frees. */
char *model_text(const struct model *model);

/* A machine's JSON with ' for "; the caller calls wants_done(). */
struct wants model_wants(const char *vmi);

#endif
