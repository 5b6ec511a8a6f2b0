/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_VIFCACHE_H
#define HANDLER_NETWORK_VIFCACHE_H

/*
 * vifcache - the files vif-cache-<pod interface>.json: what the handler made of
 * an interface, for the pod and for people to read.
 *
 * They lie in a directory of the pod and are never believed. One that does not
 * say what it should is written anew, whole or not at all.
 */

#include <stddef.h>

#include "handler/network/plan.h"

struct err;

#define VIFCACHE_VERSION 1
#define VIFCACHE_FILE_MAX (64UL * 1024)

enum vifcache_state {
	VIFCACHE_RIGHT,
	VIFCACHE_MISSING,
	VIFCACHE_DAMAGED, /* or not to be read at all; why says how */
};

/* What the file should say; the caller frees. */
char *vifcache_text(const struct plan_interface *interface);

/* Whether it does. */
enum vifcache_state vifcache_check(int dir_fd,
				   const struct plan_interface *interface,
				   char *why, size_t why_size);

/* Writes it, over whatever is there: a directory or a link too. */
int vifcache_write(int dir_fd, const struct plan_interface *interface,
		   struct err *err);

/* Removes the files of all interfaces; those of others stay. */
int vifcache_remove_all(int dir_fd, struct err *err);

#endif
