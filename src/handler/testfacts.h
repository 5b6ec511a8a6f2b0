/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_TESTFACTS_H
#define HANDLER_TESTFACTS_H

/*
 * testfacts - one node's view of a machine, for tests: everything can be set,
 * and what was decided is carried out on it.
 */

#include "handler/decide.h"
#include "handler/migratable.h"

#define TEST_UID "m1" /* of the migration */
#define TEST_NOW INT64_C(1700000000000000)

struct testnode {
	struct facts facts;
	struct vmi *vmi; /* decoded of object */
	json_t *object;
	struct pod pod;
	struct launch_status status;
	struct launch_versions versions;
	struct launch_record record;
	json_t *interfaces, *ports;
	struct migratable migratable;
};

/* A node of this name that has a pod of the machine with a launcher that
 * answers and has no domain. */
void testnode_init(struct testnode *n, const char *name);
void testnode_done(struct testnode *n);
/* Takes over the object as it is now; it is copied. */
void testnode_see(struct testnode *n, const json_t *object);
/* The launcher has a record for the migration. */
struct launch_record *testnode_record(struct testnode *n,
				      enum launch_role role);

/* A machine in this phase on node "a"; with migrating, handed off to "b" by
 * the migration TEST_UID. A new reference. */
json_t *testfacts_machine(const char *phase, bool migrating);
/* Sets a member of it by its path, as js_at() has it; takes value. */
void testfacts_set(json_t *machine, const char *path, const char *name,
		   json_t *value);

/* Decides and checks who decided, with which step. */
void testnode_decide(struct testnode *n, struct decision *ret, const char *rule,
		     enum step step);
/* The machine as it is after the wishes; a new reference. */
json_t *testnode_after(const struct testnode *n, const struct decision *d);

#endif
