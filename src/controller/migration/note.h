/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_NOTE_H
#define CONTROLLER_MIGRATION_NOTE_H

/*
 * note - what this process remembers about a migration from one look at it to
 * the next.
 *
 * Nothing of it is needed to be right: who starts without notes decides the
 * same, from the server's objects. They spare writes that were made already
 * and that the caches do not show yet.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "api/pod.h"
#include "api/vmi.h"
#include "api/vmim.h"
#include "base/map.h"

struct note {
	struct map_node in_notes;
	char *key; /* "ns/name" of the migration */
	char *uid;
	/* What answers to writes said; the caches count once they are as new.
	 * NULL: nothing newer. */
	struct vmim *vmim;
	struct vmi *vmi;
	struct pod *target, *source;
	char *gone_uid; /* of a pod that was gone with the answer; NULL */
	/* Facts of the same names. */
	bool create_sent, handoff_sent, begun;
	int64_t handoff_sent_us;
	/* NULL: none has refused. */
	char *quota_text;
	int64_t quota_until_us; /* then it is tried again */
	/* Why there can be no target pod, for other reasons; NULL: there are
	 * none. */
	char *refused_text;
	int64_t refused_until_us; /* likewise */
	unsigned refusals;        /* in a row */
	/* When a phase that is not written yet was entered; 0: not. */
	int64_t entered_us[MIGRATION_PHASE_COUNT];
	int64_t progress_us; /* when progress was looked at last */
	json_t *progress;    /* that was copied last; NULL: none */
	/* The migration is gone, and the cache does not show it yet. */
	bool gone;
	/* For the statistics. */
	unsigned writes;
	bool finalized; /* its end has been tidied up after, by this process */
	uint64_t queued_ns; /* when it became due; 0: not, or not known */
};

struct notes {
	struct map by_key;
};

/* Made if there is none; one of another uid begins anew. */
struct note *notes_get(struct notes *notes, const char *key, const char *uid);
struct note *notes_find(const struct notes *notes, const char *key); /* NULL */
void notes_drop(struct notes *notes, const char *key);
void notes_done(struct notes *notes);

void note_set_gone(struct note *note, const char *pod_uid);
void note_set_quota(struct note *note, const char *text, int64_t until_us);
/* The pod was refused; it is tried again later, and later each time. */
void note_refuse(struct note *note, const char *text, int64_t now_us);
/* It was not, or is to be tried again; the latter does not forget how often it
 * was. */
void note_accept(struct note *note);
void note_retry(struct note *note);

/* Take what an answer said, if it makes sense. */
void note_set_vmim(struct note *note, const json_t *answer);
void note_set_vmi(struct note *note, const json_t *answer);
void note_set_target(struct note *note, const json_t *answer);
void note_set_source(struct note *note, const json_t *answer);

/* Of the same object, in two states: whether a is the later one. */
bool note_is_newer(const struct objmeta *a, const struct objmeta *b);

#endif
