/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIRT_GUEST_H
#define VIRT_GUEST_H

/*
 * guest - a domain's memory: how much there is, and how fast it is written to.
 *
 * Threading: as conn.h.
 */

#include <stdint.h>

struct err;
struct virt_conn;

#define VIRT_GUEST_SAMPLE_S 1 /* that QEMU watches pages for */

struct virt_guest {
	uint64_t memory;     /* bytes that it may use */
	uint64_t resident;   /* bytes of QEMU in memory; 0: not known */
	uint64_t dirty_rate; /* bytes per second */
};

/* Samples pages, which the guest does not notice, and waits for the result:
 * VIRT_GUEST_SAMPLE_S and up to timeout_ms. ERR_CONFLICT for a domain that does
 * not run, ERR_TIMEOUT. */
int virt_guest_measure(struct virt_conn *conn, const char *name,
		       uint64_t timeout_ms, struct virt_guest *ret_guest,
		       struct err *err);

#endif
