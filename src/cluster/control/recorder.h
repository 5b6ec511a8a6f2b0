/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_RECORDER_H
#define CLUSTER_CONTROL_RECORDER_H

/*
 * recorder - Events of a controller, see kube/events.h, written through its
 * own requests.
 */

#include "kube/events.h"

struct api;
struct loop;

/* component: "default-scheduler". To be freed with events_free(), before the
 * api is. */
struct events *recorder_new(struct loop *loop, struct api *api,
			    const char *component);

#endif
