/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_TIMELINE_H
#define CTL_TIMELINE_H

/*
 * timeline - what happened to a machine and its migration, in order, gathered
 * from what objects say about themselves. Pure.
 *
 * An entry is {"time": RFC 3339, "who": "migration", "what": TEXT}. What
 * happened within one second, which is all that most objects say, stays in the
 * order in which it was added.
 *
 * Threading: one thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

#define TIMELINE_SHOWN 60 /* entries of a page, the newest */

struct timeline;

struct timeline *timeline_new(void);
void timeline_free(struct timeline *timeline);  /* NULL is fine */
void timeline_unref(struct timeline **pointer); /* for AUTO() */

/* time is as it stands in objects; what has none is not added. */
void timeline_add(struct timeline *timeline, const char *time, const char *who,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* What each kind of object says of itself; NULL is fine. */
void timeline_add_machine(struct timeline *timeline, const json_t *vmi);
void timeline_add_migration(struct timeline *timeline, const json_t *vmim);
/* Only how it ended: for those before the one that is explained. */
void timeline_add_earlier(struct timeline *timeline, const json_t *vmim);
void timeline_add_pod(struct timeline *timeline, const json_t *pod);
void timeline_add_event(struct timeline *timeline, const json_t *event);

/* When an event was seen last, wherever that stands: those of older clients
 * have it elsewhere than those of newer ones, which have parts of a second.
 * Borrowed; "" if nowhere. */
const char *timeline_event_time(const json_t *event);

/* The newest TIMELINE_SHOWN, oldest first; *ret_left says how many were left
 * off. A new reference. */
json_t *timeline_json(struct timeline *timeline, size_t *ret_left);

#endif
