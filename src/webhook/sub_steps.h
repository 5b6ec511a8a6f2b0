/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_SUB_STEPS_H
#define WEBHOOK_SUB_STEPS_H

/*
 * sub_steps - writes the steps of a call's plan, one after the other, and
 * answers. Private to sub*.c. Threading: only from the loop's thread.
 */

#include "webhook/call.h"

/* Reads and plans, again or for the first time. */
void sub_begin(struct call *call);

/* Does what is left of call->plan. */
void sub_steps_run(struct call *call);

#endif
