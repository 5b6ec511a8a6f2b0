/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_RENDER_PODPATCH_H
#define CONTROLLER_RENDER_PODPATCH_H

/*
 * podpatch - what the controller writes to the pod of an instance while it
 * runs.
 *
 * Merge patches (RFC 7386) of annotations, which depend on nothing: written
 * twice they change nothing more. Threading: as render.h.
 */

#include "base/js.h"

/*
 * What the descheduler reads: that the instance is about to leave, and the
 * wishes on the instance about being evicted. A new reference; NULL when the
 * pod says so already.
 */
json_t *podpatch_descheduler(const json_t *vmi, const json_t *pod);

/* The guest runs in this target now, since the time (as the API writes it): the
 * sign for networks to send what is for the guest here. */
json_t *podpatch_target_ready(const char *time);

#endif
