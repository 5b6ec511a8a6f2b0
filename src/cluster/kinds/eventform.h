/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_EVENTFORM_H
#define CLUSTER_KINDS_EVENTFORM_H

/*
 * eventform - Events have two forms, one for each group, and one storage.
 *
 * The core form (involvedObject, message, count) is the stored one; that of
 * events.k8s.io calls most things differently (regarding, note). Both ways are
 * in place and leave apiVersion alone.
 */

#include "base/js.h"

void eventform_to_new(json_t *event);
void eventform_to_core(json_t *event);

#endif
