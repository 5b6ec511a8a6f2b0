/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_NETNS_H
#define NET_NETNS_H

/*
 * netns - network namespaces: made, named, and visited for a moment.
 *
 * A namespace belongs to a thread, so what is to be done in another one is done
 * by a thread of its own, which ends with it. Sockets that it makes belong to
 * that namespace for good and can be used from anywhere.
 *
 * Named ones are those of ip-netns(8): files in NETNS_DIR that keep a namespace
 * alive. Those functions change the mount namespace of the process (NETNS_DIR
 * becomes a shared mount, as ip-netns makes it).
 *
 * Threading: any thread.
 */

#include <stdbool.h>

struct err;

#define NETNS_DIR "/run/netns"
#define NETNS_NAME_MAX 63

/*
 * Calls fn(arg, err) in a thread that is in the namespace, and waits for it;
 * netns_fd of -1 stands for the caller's own, and then there is no thread. fn
 * returns 0 or -1 with err filled, and so does this. It must not rely on
 * anything of the calling thread.
 */
int netns_run(int netns_fd, int (*fn)(void *arg, struct err *err), void *arg,
	      struct err *err);

/* A new namespace without a name: it goes with the last descriptor, process or
 * mount that has it. Its loopback is down. */
int netns_new(int *ret_fd, struct err *err);

/* The one that this thread is in. */
int netns_open_own(int *ret_fd, struct err *err);

/* Makes one with a name; ERR_EXISTS when the name is taken by a namespace. What
 * is left of a name whose namespace was never mounted is replaced. ret_fd may
 * be NULL. */
int netns_create(const char *name, int *ret_fd, struct err *err);

/* ERR_NOT_FOUND when there is none of this name. */
int netns_open(const char *name, int *ret_fd, struct err *err);

/* Takes the name away; the namespace goes when nobody is in it any more. A name
 * that does not exist is fine. */
int netns_delete(const char *name, struct err *err);

/* Whether both are descriptors of the same namespace. */
bool netns_same(int a_fd, int b_fd);

#endif
