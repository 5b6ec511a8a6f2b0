/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_PODNET_H
#define KUBELET_PODNET_H

/*
 * podnet - the namespaces and networks of a pod, up and down.
 *
 * Steps of pod.h: each ends with pod_step_done().
 */

struct pod;

/* Anew: what is left of an earlier try, or of before a reboot, goes first. */
void podnet_up(struct pod *pod);
void podnet_down(struct pod *pod);

#endif
