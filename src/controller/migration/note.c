/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/note.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "meta/time.h"

/* Nobody tells when what refused a pod allows it; many may ask for long. */
#define REFUSED_MIN_US TIME_US_PER_SECOND
#define REFUSED_MAX_US (300 * TIME_US_PER_SECOND)

static void
note_clear(struct note *note)
{
	vmim_unref(&note->vmim);
	vmi_unref(&note->vmi);
	pod_unref(&note->target);
	pod_unref(&note->source);
	free(note->gone_uid);
	json_decref(note->progress);
	free(note->quota_text);
	free(note->refused_text);
	free(note->uid);
}

static void
note_free(struct note *note)
{
	note_clear(note);
	free(note->key);
	free(note);
}

struct note *
notes_find(const struct notes *notes, const char *key)
{
	struct map_node *found = map_get(&notes->by_key, key);

	return found == NULL ? NULL : MAP_ENTRY(found, struct note, in_notes);
}

struct note *
notes_get(struct notes *notes, const char *key, const char *uid)
{
	struct note *note = notes_find(notes, key);

	if (note != NULL && strcmp(note->uid, uid) == 0)
		return note;
	if (note != NULL)
		notes_drop(notes, key);
	note = xmalloc0(sizeof(*note));
	note->key = xstrdup(key);
	note->uid = xstrdup(uid);
	map_put(&notes->by_key, &note->in_notes, note->key);
	return note;
}

void
notes_drop(struct notes *notes, const char *key)
{
	struct note *note = notes_find(notes, key);

	if (note == NULL)
		return;
	map_remove(&notes->by_key, &note->in_notes);
	note_free(note);
}

void
notes_done(struct notes *notes)
{
	struct map_node *node;

	while ((node = map_next(&notes->by_key, NULL)) != NULL)
		notes_drop(notes, MAP_ENTRY(node, struct note, in_notes)->key);
	map_done(&notes->by_key);
}

void
note_set_gone(struct note *note, const char *pod_uid)
{
	free(note->gone_uid);
	note->gone_uid = xstrdup(pod_uid);
}

void
note_set_quota(struct note *note, const char *text, int64_t until_us)
{
	free(note->quota_text);
	note->quota_text = text == NULL ? NULL : xstrdup(text);
	note->quota_until_us = until_us;
}

void
note_refuse(struct note *note, const char *text, int64_t now_us)
{
	int64_t pause_us = REFUSED_MIN_US;

	for (unsigned i = 0; i < note->refusals && pause_us < REFUSED_MAX_US;
	     i++)
		pause_us *= 2;
	if (pause_us > REFUSED_MAX_US)
		pause_us = REFUSED_MAX_US;
	note_retry(note);
	note->refused_text = xstrdup(text);
	note->refused_until_us = now_us + pause_us;
	note->refusals++;
}

void
note_retry(struct note *note)
{
	free(note->refused_text);
	note->refused_text = NULL;
	note->refused_until_us = 0;
}

void
note_accept(struct note *note)
{
	note_retry(note);
	note->refusals = 0;
}

void
note_set_vmim(struct note *note, const json_t *answer)
{
	struct err err;
	struct vmim *vmim = vmim_decode(answer, &err);

	if (vmim == NULL)
		return;
	vmim_free(note->vmim);
	note->vmim = vmim;
}

void
note_set_vmi(struct note *note, const json_t *answer)
{
	struct err err;
	struct vmi *vmi = vmi_decode(answer, &err);

	if (vmi == NULL)
		return;
	vmi_free(note->vmi);
	note->vmi = vmi;
}

static void
set_pod(struct pod **pod, const json_t *answer)
{
	struct err err;
	struct pod *decoded = pod_decode(answer, &err);

	if (decoded == NULL)
		return;
	pod_free(*pod);
	*pod = decoded;
}

void
note_set_target(struct note *note, const json_t *answer)
{
	set_pod(&note->target, answer);
}

void
note_set_source(struct note *note, const json_t *answer)
{
	set_pod(&note->source, answer);
}

/* Versions are numbers that grow, whatever Kubernetes calls them; without
 * zeros in front, so that the longer one is the larger. */
bool
note_is_newer(const struct objmeta *a, const struct objmeta *b)
{
	size_t len_a = strlen(a->version), len_b = strlen(b->version);

	if (len_a != len_b)
		return len_a > len_b;
	return strcmp(a->version, b->version) > 0;
}
