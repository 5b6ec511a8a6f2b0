/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIRT_CONN_H
#define VIRT_CONN_H

/*
 * conn - connections to a libvirtd, and its errors.
 *
 * Calls block until libvirtd answers, or until it is given up for dead
 * (virt_conn_keep_alive()). A call that is made while another one
 * blocks on the same connection may wait for it (libvirt 9.0 loses a wake-up);
 * therefore each thread that must not wait for others has its own connection.
 *
 * Threading: a connection may be used by any thread; its errors are the
 * thread's.
 */

#include <stdbool.h>

struct err;
struct virt_conn;

#define VIRT_VERSION_SIZE 32

/* Once per process, before anything else here: silences libvirt's own
 * messages. */
void virt_init(void);

/* Connects. ERR_UNAVAILABLE while nobody listens. */
int virt_conn_open(const char *uri, struct virt_conn **ret_conn,
		   struct err *err);
/*
 * Has calls fail, and the connection break, once libvirtd has not answered for
 * half a minute; where libvirt's events run (events.h), otherwise nothing is
 * done. Not for virt_migrate(): a libvirtd that comes to itself again goes on
 * with a migration whose caller has given up.
 */
void virt_conn_keep_alive(struct virt_conn *conn);
/* NULL is fine. */
void virt_conn_close(struct virt_conn *conn);
void virt_conn_done(struct virt_conn **conn);

/* False once the connection has broken; no call succeeds any more. */
bool virt_conn_alive(struct virt_conn *conn);

/* "9.0.0" of libvirtd and of the QEMU it runs. */
int virt_conn_versions(struct virt_conn *conn, char libvirt[VIRT_VERSION_SIZE],
		       char qemu[VIRT_VERSION_SIZE], struct err *err);

/* libvirt's XML about the host and about what a domain of a type ("qemu",
 * "kvm") can be; the caller frees. NULL on failure. */
char *virt_conn_capabilities(struct virt_conn *conn, struct err *err);
char *virt_conn_domain_capabilities(struct virt_conn *conn, const char *type,
				    struct err *err);

#endif
