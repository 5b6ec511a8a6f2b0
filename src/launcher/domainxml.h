/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_DOMAINXML_H
#define LAUNCHER_DOMAINXML_H

/*
 * domainxml - a machine as libvirt's XML.
 *
 * A pure function; tests/data/domain has an input and an output for each case.
 * What docs/api.md lists as usable has its place here, or has none in a domain
 * (docs/launcher.md has the list). What it does not list was refused at
 * admission and is not looked at.
 *
 * Threading: any thread.
 */

#include <stdbool.h>

#include "base/js.h"
#include "launcher/disks.h"
#include "launchrpc/status.h"

struct err;

struct domain_input {
	const json_t *vmi;
	const struct disks *disks;
	const struct launch_interfaces *interfaces;
	/* Taps that have several queues: a bit per interface. */
	unsigned long long multi_queue;
	bool kvm;
	const char *containers; /* where kernelBoot's image is */
	const char *runtime;    /* directory of sockets: serial, VNC, monitor */
	const char *console;    /* file that the serial port is written to */
};

/* The socket of QEMU's second monitor, in `runtime`. */
#define DOMAIN_MONITOR "virt-monitor"

/* "NAMESPACE_NAME"; the caller frees. */
char *domain_name(const char *ns, const char *name);

/* NULL on failure; the error names the member. The caller frees. */
char *domainxml_make(const struct domain_input *in, struct err *err);

/* How much the guest has; 0 when the machine does not say. */
uint64_t domain_memory(const json_t *vmi);

#endif
