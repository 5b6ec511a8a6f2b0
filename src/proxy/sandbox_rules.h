/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_SANDBOX_RULES_H
#define PROXY_SANDBOX_RULES_H

/*
 * sandbox_rules - which system calls the two processes may make.
 *
 * Only tables; sandbox.c turns them into a filter. Whoever makes the proxy use
 * a new call adds it here, with the reason if it is not plain.
 */

#include <stdint.h>

#include "proxy/sandbox.h"

#define SANDBOX_RULE_ARGS 2

/* A call that is allowed if (argument & mask) == value for all args. */
struct sandbox_rule {
	const char *name; /* NULL ends the table */
	struct {
		unsigned number;
		uint64_t mask; /* 0: not looked at */
		uint64_t value;
	} args[SANDBOX_RULE_ARGS];
};

/* Lists are names with blanks between them. What is not named is EPERM. */
struct sandbox_rules {
	const char *deadly;     /* ends the process */
	const char *absent;     /* ENOSYS: the C library has another way */
	const char *allowed[2]; /* of both processes, of this one */
	const struct sandbox_rule *limited[2];
};

const struct sandbox_rules *sandbox_rules_of(enum sandbox_profile profile);

#endif
