/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_RENDER_NETWORKS_H
#define CONTROLLER_RENDER_NETWORKS_H

/*
 * networks - the networks of a machine as its pod gets them.
 *
 * The pod's own network comes by itself; others are asked for by an annotation
 * that Multus, and ferry-kubelet, read. Their interfaces in the pod are named
 * after the network, so that the order of networks does not matter.
 *
 * Threading: as render.h.
 */

#include <stdbool.h>

#include "base/js.h"

struct err;

#define NETWORKS_NAME_SIZE 16 /* of an interface */

/* The interface that a secondary network has in the pod: "pod" and the
 * beginning of the SHA-256 of its name. Returns buf. */
const char *networks_interface(const char *network,
			       char buf[NETWORKS_NAME_SIZE]);

/*
 * Sets the annotations for the networks of an instance. With ordinal the
 * interfaces are net1, net2, ... as those of pods made by older programs, which
 * a target has to match.
 */
int networks_annotate(const json_t *vmi, bool ordinal, json_t *annotations,
		      struct err *err);

/* Whether a running pod's interfaces are net1, net2, ... */
bool networks_are_ordinal(const json_t *pod);

#endif
