/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_LINK_H
#define HANDLER_LINK_H

/*
 * link - the way to the launcher of one pod.
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
struct link;
struct loop;

/* Between tries to connect: somebody waits for a launcher that starts; later
 * nobody is in a hurry. */
#define LINK_EAGER_MS 20U
#define LINK_EAGER_TRIES 250U
#define LINK_RETRY_MS 200U

/* emptyDir volumes of a launcher's pod; see docs/rendering.md. */
#define LINK_SOCKETS "sockets"
#define LINK_PUBLIC "public"
#define LINK_PRIVATE "private"
#define LINK_LIBVIRT "libvirt-runtime"

struct link_config {
	struct loop *loop;
	const char *kubelet_root; /* not copied */
	const char *pod_uid;      /* copied */
	const char *vmi_uid;      /* copied: the machine it must be of */
	/* State or status are others now. From the loop; may not free. */
	void (*changed)(void *arg);
	void *arg;
};

struct link *link_new(const struct link_config *config);
void link_free(struct link *link); /* NULL is fine */

enum link_state link_state(const struct link *link);
/* What is wrong with it; "". */
const char *link_text(const struct link *link);
/* NULL unless LINK_READY. */
const struct launch_status *link_status(const struct link *link);
/* The pod, by its launcher; only when LINK_READY. */
const struct network_pod *link_pod(const struct link *link);
/* Who the launcher runs as. */
uid_t link_uid(const struct link *link);
gid_t link_gid(const struct link *link);

/*
 * As launch_client_call(), one at a time; ERR_UNAVAILABLE unless LINK_READY.
 * The status of the answer is the link's before fn is called. When the link is
 * freed meanwhile it never is.
 */
int link_call(struct link *link, enum launch_method method, json_t *params,
	      launch_answer_fn fn, void *arg, struct err *err);

/* Opens a volume of the pod, or a directory in it (NULL: the volume itself),
 * as O_PATH. */
int link_open_dir(const struct link *link, const char *volume, const char *name,
		  int *ret_fd, struct err *err);

#endif
