/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NODELABELS_H
#define HANDLER_NODELABELS_H

/*
 * nodelabels - says on the Node that machines may be scheduled here, and what
 * CPUs they can have.
 *
 * Written once at the start and again every NODELABELS_BEAT_MS with the time in
 * the annotation kubevirt.io/heartbeat, as KubeVirt's agent does.
 *
 * Threading: only from the loop's thread.
 */

struct host;
struct kube_client;
struct loop;
struct nodelabels;

#define NODELABELS_BEAT_MS (60U * 1000)
#define NODELABELS_RETRY_MS 1000U

struct nodelabels_config {
	struct loop *loop;
	struct kube_client *client;
	const char *node; /* not copied */
	const struct host *host;
};

struct nodelabels *nodelabels_new(const struct nodelabels_config *config);
void nodelabels_free(struct nodelabels *labels); /* NULL is fine */

#endif
