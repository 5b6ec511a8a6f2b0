/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_PODSTART_H
#define KUBELET_PODSTART_H

/* podstart - starts the container that the plan names; a step of pod.h. */

struct pod;

void podstart_begin(struct pod *pod);

#endif
