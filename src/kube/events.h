/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_EVENTS_H
#define KUBE_EVENTS_H

/*
 * events - Events about objects, as a component of Kubernetes writes them.
 *
 * The same news about the same object is one Event with a count, which is
 * written at most every EVENTS_REPEAT_MS, and at the end of that time; it says
 * when it was news the last time, not when that was written. Many
 * different messages with the same reason about the same object become one
 * Event with the text of the last, as in Kubernetes. Each object has a budget
 * of writes (EVENTS_BURST, one more every EVENTS_REFILL_MS); what is over it is
 * dropped, and counted.
 *
 * An Event that cannot be written is lost: nothing depends on it.
 *
 * Threading: only from the loop's thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct events;
struct kube_client;
struct loop;

#define EVENTS_REPEAT_MS (30U * 1000)
#define EVENTS_RENEW_MS (30U * 60 * 1000) /* then it is a new Event */
#define EVENTS_SIMILAR_MAX 10 /* messages, before they are combined */
#define EVENTS_SIMILAR_MS (10U * 60 * 1000)
#define EVENTS_BURST 25
#define EVENTS_REFILL_MS (5U * 60 * 1000)
#define EVENTS_KEPT 8192        /* Events and objects that are remembered */
#define EVENTS_MESSAGE_MAX 1024 /* bytes; longer ones are cut */

/* What an Event is about. */
struct events_ref {
	const char *api_version, *kind;
	const char *ns; /* "" for objects without: the Event is in "default" */
	const char *name, *uid;
};

/* A write: POST of JSON, or PATCH of a merge patch. */
struct events_write {
	const char *method;
	const char *path;
	const char *event_path; /* of the Event itself, for events_lost() */
	json_t *body;           /* borrowed */
};

struct events_config {
	struct loop *loop;
	const char *component; /* "virt-controller"; copied */
	void (*write)(const struct events_write *write, void *arg);
	void *arg;
	unsigned repeat_ms; /* 0: EVENTS_REPEAT_MS */
};

struct events *events_new(const struct events_config *config);
/* The same with the client's requests. */
struct events *events_new_for(struct kube_client *client,
			      const char *component);
/* Counts that were not yet written are lost. NULL is fine. */
void events_free(struct events *events);

/* type is "Normal" or "Warning". */
void events_emit(struct events *events, const struct events_ref *ref,
		 const char *type, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* A write of this Event has failed, whether it is there or not: it is
 * forgotten, and what is emitted next is a new one. Not from within the write.
 */
void events_lost(struct events *events, const char *event_path);

struct events_stats {
	uint64_t emitted; /* calls */
	uint64_t written; /* requests */
	uint64_t combined;
	uint64_t dropped; /* over the budget */
	uint64_t lost;    /* writes that failed */
};

const struct events_stats *events_stats(const struct events *events);

#endif
