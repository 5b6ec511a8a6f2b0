/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIRT_CAPS_H
#define VIRT_CAPS_H

/*
 * caps - what a host's libvirt says about CPUs and machines.
 *
 * Threading: any thread.
 */

#include <stddef.h>

struct err;

struct virt_names {
	char **items;
	size_t count;
};

struct virt_caps {
	char *arch;       /* "x86_64" */
	char *vendor;     /* of the CPU: "AMD"; "" where nobody knows */
	char *host_model; /* "EPYC"; "" for none */
	/* What the host's CPU has besides its model; what it lacks of it is
	 * not in it. */
	struct virt_names host_features;
	struct virt_names models;   /* usable for a guest, by name */
	struct virt_names features; /* of the host's CPU, with its model's */
	struct virt_names machines; /* "pc-q35-7.2", "q35" */
};

/* From the XML of virt_conn_capabilities() and of
 * virt_conn_domain_capabilities(). On failure *ret is empty. */
int virt_caps_parse(const char *host_xml, const char *domain_xml,
		    struct virt_caps *ret, struct err *err);
void virt_caps_done(struct virt_caps *caps);

#endif
