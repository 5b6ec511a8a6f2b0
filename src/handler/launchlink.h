/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_LAUNCHLINK_H
#define HANDLER_LAUNCHLINK_H

/*
 * launchlink - the way to the launcher of one pod.
 *
 * Finds the launcher's socket in the pod's directories, connects, and stays
 * connected: a launcher that does not answer yet, or not any more, is tried
 * again until the link is freed. Whatever is in those directories is the
 * pod's to change, and taken for hostile.
 *
 * Threading: only from the loop's thread.
 */

#include <stdint.h>
#include <sys/types.h>

#include "handler/facts.h"
#include "handler/network/network.h"
#include "launchrpc/client.h"

struct err;
struct launchlink;
struct loop;

/* Between tries to connect: somebody waits for a launcher that starts; later
 * nobody is in a hurry. */
#define LAUNCHLINK_EAGER_MS 20U
#define LAUNCHLINK_EAGER_TRIES 250U
#define LAUNCHLINK_RETRY_MS 200U

/* A connection that has lasted so long was one; after a shorter one the next
 * tries are not eager again. */
#define LAUNCHLINK_LASTING_MS 10000U

/* How often a launcher is listened to that has always news; see bucket.h. What
 * it said last counts, whenever that is. */
#define LAUNCHLINK_NEWS_PER_S 5U
#define LAUNCHLINK_NEWS_BURST 50U

/* emptyDir volumes of a launcher's pod; see docs/rendering.md. */
#define LAUNCHLINK_SOCKETS "sockets"
#define LAUNCHLINK_PUBLIC "public"
#define LAUNCHLINK_PRIVATE "private"
#define LAUNCHLINK_LIBVIRT "libvirt-runtime"

struct launchlink_config {
	struct loop *loop;
	const char *kubelet_root; /* not copied */
	const char *pod_uid;      /* copied */
	const char *vmi_uid;      /* copied: the machine it must be of */
	/* State or status are others now. From the loop; may not free. */
	void (*changed)(void *arg);
	void *arg;
};

struct launchlink *launchlink_new(const struct launchlink_config *config);
void launchlink_free(struct launchlink *link); /* NULL is fine */

enum launchlink_state launchlink_state(const struct launchlink *link);
/* What is wrong with it; "". */
const char *launchlink_text(const struct launchlink *link);
/* NULL unless LINK_READY. */
const struct launch_status *launchlink_status(const struct launchlink *link);
const struct launch_versions *
launchlink_versions(const struct launchlink *link);
/* The pod, by its launcher; only when LINK_READY. */
const struct network_pod *launchlink_pod(const struct launchlink *link);
/* Who the launcher runs as. */
uid_t launchlink_uid(const struct launchlink *link);
gid_t launchlink_gid(const struct launchlink *link);

/*
 * As launch_client_call(), one at a time; ERR_UNAVAILABLE unless LINK_READY.
 * The status of the answer is the link's before fn is called. When the link is
 * freed meanwhile it never is.
 */
int launchlink_call(struct launchlink *link, enum launch_method method,
		    json_t *params, launch_answer_fn fn, void *arg,
		    struct err *err);

/* Opens a volume of the pod, or a directory in it (NULL: the volume itself),
 * as O_PATH. */
int launchlink_open_dir(const struct launchlink *link, const char *volume,
			const char *name, int *ret_fd, struct err *err);

#endif
