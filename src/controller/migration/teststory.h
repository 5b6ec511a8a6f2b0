/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TESTSTORY_H
#define CONTROLLER_MIGRATION_TESTSTORY_H

/*
 * teststory - stories of a migration, one fact after the other, for
 * story_test.c: they are told in the cluster of testworld.h, where the
 * controller's decisions are carried out. Each one is held to the laws of
 * testlaws.h and to those of that cluster.
 */

#include "controller/migration/testworld.h"

#define EVENTS_MAX 8

enum event {
	EVENT_PLACED, /* of the target pod */
	EVENT_UNSCHEDULABLE,
	EVENT_READY,
	EVENT_SAME_NODE,
	EVENT_TARGET_DOWN,
	EVENT_TARGET_REMOVED,
	EVENT_ADDRESS, /* of the machine's migration state */
	EVENT_STARTED,
	EVENT_POST_COPY,
	EVENT_ARRIVED,
	EVENT_LEFT,
	EVENT_COMPLETED,
	EVENT_FAILED,
	EVENT_CLEARED,
	EVENT_TAKEN,
	EVENT_CANCEL, /* by people */
	EVENT_SOURCE_REMOVED,
	EVENT_MACHINE_ENDED,
	EVENT_MACHINE_GONE,
	EVENT_QUOTA_FULL,
	EVENT_QUOTA_FREE,
	EVENT_COUNT,
};

struct story {
	const char *name;
	enum migration_phase end; /* when nothing is late or left out */
	/* It ends so in whichever order. */
	bool always;
	size_t len;
	enum event events[EVENTS_MAX];
};

enum object {
	OBJECT_VMIM,
	OBJECT_VMI,
	OBJECT_SOURCE,
	OBJECT_TARGET
};

#define NO_REQUEST (~0U)

/* A way to tell a story. */
struct telling {
	const struct story *story;
	enum event events[EVENTS_MAX];
	size_t len;
	unsigned looks; /* bits: after which events, bit 0 before all */
	unsigned lost;  /* the request before which the controller dies */
	size_t late;    /* the event before which days pass; len: none */
	/* Until as many events have happened no status can be written. */
	size_t unwritten;
	/* A look after an event with objects as they were some events ago. */
	size_t stale_at, stale_by;
	unsigned stale; /* bits of enum object; 0: none */
};

extern struct telling telling; /* that is told */
extern unsigned made;          /* target pods, in it */
extern unsigned long long tellings, decisions;

/* With a look after each event, and nothing late. */
void story_set(const struct story *story);
/*
 * Tells it, and then lets all time pass until it has ended: only one pod is
 * made, and none is left.
 */
void story_tell(void);
void story_expect(enum migration_phase phase);
/* How many the controller has made in it. */
unsigned story_requests(void);

#define TOLD(condition)                                       \
	do {                                                  \
		if (!(condition)) {                           \
			story_print();                        \
			print_error("not: %s\n", #condition); \
			fail();                               \
		}                                             \
	} while (0)

void story_print(void);

#endif
