/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MACHINE_FACTS_H
#define CONTROLLER_MACHINE_FACTS_H

/*
 * facts - all that is known about one machine (VM) and its instance at one
 * moment.
 *
 * Whoever fills it in borrows everything to it for as long as it is used.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/vm.h"
#include "api/vmi.h"

/* Whose the instance of the machine's name is. */
enum machine_bond {
	BOND_NONE, /* there is none */
	BOND_OWN,
	BOND_LOOSE,   /* nobody's: it is taken over */
	BOND_FOREIGN, /* somebody else's */
};

/* The machine's template against the one that the instance was made of. */
enum machine_template {
	TEMPLATE_UNKNOWN, /* not compared: only confirmed facts have both */
	TEMPLATE_SAME,
	TEMPLATE_CHANGED,
};

/* Why something could not be done, and when it may be tried again. */
struct machine_failure {
	const char *reason; /* NULL: nothing has failed */
	const char *message;
	int64_t retry_us;
};

struct machine_facts {
	int64_t now_us;
	/*
	 * Machine and instance were read from the server just now, in this
	 * order. Caches may be older, each by a different amount. What starts
	 * or stops an instance waits until this is true; see
	 * machine_decision.confirm.
	 */
	bool confirmed;
	const struct vm *vm;
	const struct vmi *vmi; /* NULL unless the bond is OWN or LOOSE */
	enum machine_bond bond;
	enum machine_template template;
	/* text_wishes() of the template; NULL: not known. */
	const char *wishes;
	bool provisions; /* a claim is still being made */
	bool unbound;    /* a claim has no volume */
	struct machine_failure failure;
	uint32_t random; /* any number */
};

/* The instance's, none counting as running at no time. */
bool machine_has_run(const struct machine_facts *facts);

/*
 * How many of the machine's requests, from the first on, have been met or can
 * no longer be: those to stop an instance that is gone, those to start when
 * there is one.
 */
size_t machine_requests_met(const struct machine_facts *facts);
/* The request that is to be met next; NULL for none. */
const struct vm_request *machine_request(const struct machine_facts *facts);
bool machine_asks_start(const struct machine_facts *facts);
/* To stop this very instance. */
bool machine_asks_stop(const struct machine_facts *facts);

#endif
