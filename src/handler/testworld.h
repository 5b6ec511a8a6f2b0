/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_TESTWORLD_H
#define HANDLER_TESTWORLD_H

/*
 * testworld - two nodes for model_test.c: the machine on the server, the
 * launchers with their domains, and a transfer between them that may break.
 */

#include "handler/testfacts.h"

enum {
	A,
	B,
	NODES
};

/* One node: its launcher is of the testnode's status, and remembers. */
struct place {
	struct testnode node;
	bool listens[2]; /* ferry-proxy: source, target */
	/* What its handler remembers, lost when it is restarted. */
	const char *listener[2];
	bool silent; /* the handler does not run */
	bool cut;    /* it has no way to ferry-proxy, which may run on */
};

extern struct place places[NODES];
extern json_t *live; /* the machine on the server */
extern int64_t now_us;
extern bool lost;    /* somebody has killed what the guest was in */
extern bool shares;  /* the machine has a disk that both nodes write to */
extern bool there;   /* its guest has run on the target */
extern bool watched; /* QEMU has a second monitor */
extern unsigned long long seed;
extern unsigned run; /* the number that a failure is found again with */

/* How often it came to that. */
extern unsigned post_copies, unconfirmed, mended;

unsigned dice(unsigned sides);

/* The machine on the server, and the state of its migration. */
void store(json_t *object); /* takes it, as a new version */
void set_state(const char *name, json_t *value);
bool state_bool(const char *name);
bool state_has(const char *name);
bool is_over(void);
int home(void); /* the node that it is on, by what is written */

/* Launchers. NULL when there is no record, or not of this role. */
struct launch_record *record_of(int i, enum launch_role role);
void end_record(struct launch_record *r, enum launch_reason reason);
void set_domain(int i, enum launch_state state, enum launch_cause cause);
void pod_ends(int i);
void launcher_dies(int i);
bool is_alive(int i);
/* The guest executes there, or would if it got all of its memory. */
bool runs_on(int i);

/* libvirt at work, one step. */
void transfer(void);
/* The source has handed it over and does not know whether it has arrived. */
bool is_held(void);
/* Post-copy broke: half of it stands at the source. */
bool is_stalled(void);
/* The machine is on both nodes. */
bool is_in_halves(void);

#endif
