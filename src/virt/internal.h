/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIRT_INTERNAL_H
#define VIRT_INTERNAL_H

/*
 * internal - libvirt's types, for the modules of this directory.
 */

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "base/err.h"

struct virt_conn {
	virConnectPtr ptr;
};

/* The last error of this thread, behind a text; returns -1. */
int virt_fail(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* For AUTO(). */
void virt_free_domain(virDomainPtr *domain);

/* ERR_NOT_FOUND when there is none of this name. */
int virt_lookup(struct virt_conn *conn, const char *name, virDomainPtr *ret,
		struct err *err);

#ifdef __clang_analyzer__
#define virt_fail(...) ((void)(virt_fail)(__VA_ARGS__), -1)
#endif

#endif
