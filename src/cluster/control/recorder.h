/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_RECORDER_H
#define CLUSTER_CONTROL_RECORDER_H

/*
 * recorder - Events about objects, as a component of Kubernetes writes them.
 *
 * The same news about the same object is one Event with a count, which is
 * written at most every RECORDER_REPEAT_MS. An Event that cannot be written is
 * lost: nothing depends on it.
 */

#include "base/js.h"

struct api;
struct recorder;

#define RECORDER_REPEAT_MS (30U * 1000)
#define RECORDER_RENEW_MS (30U * 60 * 1000) /* then it is a new Event */
#define RECORDER_KEPT 4096 /* Events that are remembered for counting */

/* What an Event is about. */
struct recorder_ref {
	const char *api_version, *kind;
	const char *ns; /* "" for objects without: the Event is in "default" */
	const char *name, *uid;
};

/* Both are kept, not copied. component: "default-scheduler". */
struct recorder *recorder_new(struct api *api, const char *component);
void recorder_free(struct recorder *recorder); /* NULL is fine */

/* type is "Normal" or "Warning". */
void recorder_event(struct recorder *recorder, const struct recorder_ref *ref,
		    const char *type, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#endif
