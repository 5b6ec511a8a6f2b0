/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_DOMAINXML_INTERNAL_H
#define LAUNCHER_DOMAINXML_INTERNAL_H

/*
 * domainxml_internal - the parts of a domain, for domainxml.c only.
 */

#include "launcher/domainxml.h"
#include "virt/xml.h"

/* What several parts need of a machine. */
struct domain_work {
	const struct domain_input *in;
	const json_t *domain;  /* spec.domain */
	const json_t *devices; /* spec.domain.devices */
	struct xml *xml;
	unsigned vcpus;
	unsigned io_threads; /* of the domain */
};

/* How many I/O threads the disks want; sets io_threads. */
void domainxml_count_io_threads(struct domain_work *w);
void domainxml_disks(struct domain_work *w);
int domainxml_interfaces(struct domain_work *w, struct err *err);
/* Controllers, serial, graphics, inputs, rng, watchdog, balloon. */
void domainxml_devices(struct domain_work *w);

#endif
