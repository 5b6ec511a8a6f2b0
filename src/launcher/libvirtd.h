/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_LIBVIRTD_H
#define LAUNCHER_LIBVIRTD_H

/*
 * libvirtd - the pod's own libvirtd: configured, started, started again.
 *
 * QEMU lives on when libvirtd dies; the next one finds it, and is started when
 * QEMU owes the one before no answer (owed.h). Its host UUID is the
 * pod's own, since libvirt refuses to migrate between equal ones. What libvirt
 * has to know about QEMU is copied from what `probe` found out on this node,
 * which saves seconds; libvirt checks by itself whether it still holds.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

struct children;
struct err;
struct libvirtd;
struct loop;

/* How long QEMU may take for that: in post-copy it does not answer while it
 * waits for a page. */
#define LIBVIRTD_OWED_MS 60000U

struct libvirtd_config {
	struct loop *loop;
	struct children *children;
	const char *seed_dir;    /* of capabilities; may not exist */
	const char *private_dir; /* for its files */
	bool nonroot;
};

/* Writes the configuration and starts it. The config is copied. */
int libvirtd_start(const struct libvirtd_config *config,
		   struct libvirtd **ret_libvirtd, struct err *err);

/* SIGTERM, and not started again. NULL is fine. */
void libvirtd_stop(struct libvirtd *libvirtd);

/* How to connect to it. */
const char *libvirtd_uri(bool nonroot);
/* A peer's libvirtd through a socket; the caller frees. */
char *libvirtd_peer_uri(bool nonroot, const char *socket);
/* Where libvirt writes QEMU's process number; the caller frees. */
char *libvirtd_pid_file(bool nonroot, const char *domain);
/* Where it keeps what it knows about QEMU; the caller frees. */
char *libvirtd_cache_dir(bool nonroot, const char *private_dir);

#endif
