/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_CLAIMS_H
#define HANDLER_CLAIMS_H

/*
 * claims - asks for the claims of a machine and judges whether it can be
 * moved.
 *
 * A node has few machines and a cluster many claims, so they are read when
 * they are needed and not followed. One that cannot be read counts as one that
 * is not shared.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

#include "handler/migratable.h"

struct claims;
struct kube_client;

/* Whether there is anything to ask for. */
bool claims_are_needed(const struct vmi *vmi);

/* done is called once, from the loop, when all have been answered. */
struct claims *claims_ask(struct kube_client *client, const struct vmi *vmi,
			  void (*done)(void *arg), void *arg);

/* The machine may have changed meanwhile. claims may be NULL: there are
 * none. */
void claims_judge(const struct claims *claims, const struct vmi *vmi,
		  bool host_model_known, struct migratable *ret_verdict);

/* Nobody is called any more. NULL is fine. */
void claims_free(struct claims *claims);

#endif
