/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/sight.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/migration/disks.h"
#include "controller/migration/hostmodel.h"

static bool
is_same(const struct objmeta *a, const struct objmeta *b)
{
	return strcmp(a->uid, b->uid) == 0;
}

/* What an answer said, when it is about the same object and newer. */
static const struct vmim *
newer_vmim(const struct vmim *seen, const struct note *note)
{
	if (seen == NULL || note == NULL || note->vmim == NULL ||
	    !is_same(&seen->meta, &note->vmim->meta) ||
	    !note_is_newer(&note->vmim->meta, &seen->meta))
		return seen;
	return note->vmim;
}

static const struct vmi *
newer_vmi(const struct vmi *seen, const struct note *note)
{
	if (seen == NULL || note == NULL || note->vmi == NULL ||
	    !is_same(&seen->meta, &note->vmi->meta) ||
	    !note_is_newer(&note->vmi->meta, &seen->meta))
		return seen;
	return note->vmi;
}

/* The cache can be ahead of what was read, after a while. */
static const struct vmim *
later_vmim(const struct vmim *read, const struct vmim *cached)
{
	if (read == NULL || cached == NULL ||
	    !is_same(&read->meta, &cached->meta) ||
	    !note_is_newer(&cached->meta, &read->meta))
		return read;
	return cached;
}

static const struct vmi *
later_vmi(const struct vmi *read, const struct vmi *cached)
{
	if (read == NULL || cached == NULL ||
	    !is_same(&read->meta, &cached->meta) ||
	    !note_is_newer(&cached->meta, &read->meta))
		return read;
	return cached;
}

static const struct pod *
later_pod(const struct pod *read, const struct pod *cached)
{
	if (cached == NULL || !is_same(&read->meta, &cached->meta) ||
	    !note_is_newer(&cached->meta, &read->meta))
		return read;
	return cached;
}

static void
add_pod(struct sight *sight, const struct pod *pod)
{
	sight->pods[sight->pod_count++] = pod;
}

static void
put_note_pod(struct sight *sight, const struct pod *pod, bool add)
{
	if (pod == NULL)
		return;
	for (size_t i = 0; i < sight->pod_count; i++) {
		if (!is_same(&sight->pods[i]->meta, &pod->meta))
			continue;
		if (note_is_newer(&pod->meta, &sight->pods[i]->meta))
			sight->pods[i] = pod;
		return;
	}
	if (add)
		add_pod(sight, pod);
}

/* There is room for two more. */
static void
put_note(struct sight *sight, const struct note *note)
{
	if (note == NULL)
		return;
	/* One that was made may not have arrived; another has gone. */
	put_note_pod(sight, note->target, true);
	put_note_pod(sight, note->source, false);
	for (size_t i = 0; note->gone_uid != NULL && i < sight->pod_count;
	     i++) {
		if (strcmp(sight->pods[i]->meta.uid, note->gone_uid) != 0)
			continue;
		sight->pods[i] = sight->pods[--sight->pod_count];
		return;
	}
}

static bool
has_pod(const struct sight *sight, const struct pod *pod)
{
	for (size_t i = 0; i < sight->pod_count; i++) {
		if (sight->pods[i] == pod)
			return true;
	}
	return false;
}

static void
find_pods(struct sight *sight, const struct world *world)
{
	const struct cache *cache = world_cache(world, WORLD_PODS);
	const char *vmi_uid = sight->vmi == NULL ? "" : sight->vmi->meta.uid;
	const char *uid = sight->vmim->meta.uid;
	struct cache_walk walk;
	const struct pod *pod;

	sight->pods = xcalloc(
		cache_count_of(cache, PODS_BY_VMI, vmi_uid) +
			cache_count_of(cache, PODS_BY_MIGRATION, uid) + 2,
		sizeof(struct pod *));
	walk = cache_find(cache, PODS_BY_VMI, vmi_uid);
	while ((pod = world_next(&walk)) != NULL)
		add_pod(sight, pod);
	walk = cache_find(cache, PODS_BY_MIGRATION, uid);
	while ((pod = world_next(&walk)) != NULL) {
		if (!has_pod(sight, pod))
			add_pod(sight, pod);
	}
}

/* Room for those of a reading besides. */
static void
find_others(struct sight *sight, const struct world *world, size_t more)
{
	const struct cache *cache = world_cache(world, WORLD_VMIMS);
	char key[KUBE_KEY_MAX];
	struct cache_walk walk;
	const struct vmim *other;

	(void)kube_key(sight->vmim->meta.ns, sight->vmim->vmi_name, key);
	sight->others =
		xcalloc(cache_count_of(cache, VMIMS_BY_VMI, key) + more + 1,
			sizeof(struct vmim *));
	walk = cache_find(cache, VMIMS_BY_VMI, key);
	while ((other = world_next(&walk)) != NULL) {
		if (!is_same(&other->meta, &sight->vmim->meta))
			sight->others[sight->other_count++] = other;
	}
}

/* Only who finds no node wants to know, and the answer takes a while. */
static void
look_for_cpu(struct sight *sight, const struct world *world)
{
	for (size_t i = 0; i < sight->pod_count; i++) {
		const struct pod *pod = sight->pods[i];

		if (pod->unschedulable &&
		    strcmp(pod->migration_uid, sight->vmim->meta.uid) == 0)
			sight->cpu_labels =
				hostmodel_missing(world, sight->vmi);
	}
}

/* Once it has begun it is for the nodes to find out. */
static void
look_at_disks(struct sight *sight, const struct world *world)
{
	if (sight->vmi != NULL && sight->vmim->phase <= MIGRATION_PENDING)
		sight->disks_text = disks_hindrance(world, sight->vmi);
}

void
sight_from_world(struct sight *sight, const struct world *world,
		 const char *key, const struct note *note)
{
	memset(sight, 0, sizeof(*sight));
	sight->vmim = newer_vmim(world_get_key(world, WORLD_VMIMS, key), note);
	if (sight->vmim == NULL)
		return;
	sight->vmi =
		newer_vmi(world_get(world, WORLD_VMIS, sight->vmim->meta.ns,
				    sight->vmim->vmi_name),
			  note);
	find_others(sight, world, 0);
	find_pods(sight, world);
	put_note(sight, note);
	look_for_cpu(sight, world);
	look_at_disks(sight, world);
}

/*
 * A migration that has begun has its label, so that all that count are in the
 * reading. One without it has not begun, and those that the cache knows are
 * enough to tell who was first.
 */
static void
take_others(struct sight *sight, const struct world *world,
	    const struct reading *reading)
{
	size_t known;

	if (reading->others_unknown) {
		find_others(sight, world, 0);
		return;
	}
	find_others(sight, world, reading->other_count);
	known = sight->other_count;
	sight->other_count = 0;
	for (size_t i = 0; i < known; i++) {
		const struct vmim *other = sight->others[i];

		if (strcmp(other->vmi_label, other->vmi_name) != 0)
			sight->others[sight->other_count++] = other;
	}
	for (size_t i = 0; i < reading->other_count; i++) {
		bool twice = false;

		for (size_t k = 0; k < sight->other_count; k++)
			twice |= is_same(&sight->others[k]->meta,
					 &reading->others[i]->meta);
		if (!twice)
			sight->others[sight->other_count++] =
				reading->others[i];
	}
}

void
sight_from_reading(struct sight *sight, const struct world *world,
		   const struct reading *reading, const struct note *note)
{
	const struct objmeta *meta;

	memset(sight, 0, sizeof(*sight));
	sight->vmim = reading->vmim;
	if (sight->vmim == NULL)
		return;
	meta = &sight->vmim->meta;
	sight->vmim = newer_vmim(
		later_vmim(sight->vmim,
			   world_get(world, WORLD_VMIMS, meta->ns, meta->name)),
		note);
	sight->vmi = newer_vmi(
		later_vmi(reading->vmi, world_get(world, WORLD_VMIS, meta->ns,
						  sight->vmim->vmi_name)),
		note);
	if (reading->vmi_bad)
		sight->machine_text = reading->vmi_err.text;
	take_others(sight, world, reading);
	sight->pods = xcalloc(reading->pod_count + 2, sizeof(struct pod *));
	for (size_t i = 0; i < reading->pod_count; i++) {
		const struct pod *pod = reading->pods[i];

		add_pod(sight, later_pod(pod, world_get(world, WORLD_PODS,
							pod->meta.ns,
							pod->meta.name)));
	}
	put_note(sight, note);
	look_for_cpu(sight, world);
	look_at_disks(sight, world);
}

static bool
shows(const struct objmeta *cached, const struct objmeta *noted)
{
	return !is_same(cached, noted) || !note_is_newer(noted, cached);
}

static bool
shows_pod(const struct world *world, const struct pod *noted)
{
	const struct pod *pod =
		noted == NULL ? NULL
			      : world_get(world, WORLD_PODS, noted->meta.ns,
					  noted->meta.name);

	return pod == NULL || shows(&pod->meta, &noted->meta);
}

static bool
has_pod_of_uid(const struct world *world, const char *vmi_uid, const char *uid)
{
	struct cache_walk walk = cache_find(world_cache(world, WORLD_PODS),
					    PODS_BY_VMI, vmi_uid);
	const struct pod *pod;

	while ((pod = world_next(&walk)) != NULL) {
		if (strcmp(pod->meta.uid, uid) == 0)
			return true;
	}
	return false;
}

bool
sight_is_current(const struct world *world, const struct note *note,
		 const char *vmi_uid)
{
	const struct vmim *vmim = world_get_key(world, WORLD_VMIMS, note->key);
	const struct vmi *vmi =
		note->vmi == NULL
			? NULL
			: world_get(world, WORLD_VMIS, note->vmi->meta.ns,
				    note->vmi->meta.name);

	if (vmim != NULL && note->vmim != NULL &&
	    !shows(&vmim->meta, &note->vmim->meta))
		return false;
	if (vmi != NULL && !shows(&vmi->meta, &note->vmi->meta))
		return false;
	return shows_pod(world, note->target) &&
	       shows_pod(world, note->source) &&
	       (note->gone_uid == NULL ||
		!has_pod_of_uid(world, vmi_uid, note->gone_uid));
}

void
sight_done(struct sight *sight)
{
	free(sight->others);
	free(sight->pods);
	free(sight->cpu_labels);
	free(sight->disks_text);
	memset(sight, 0, sizeof(*sight));
}

/* The one that the machine is in, or was before it moved. */
static bool
is_source(const struct facts *facts, const struct pod *pod)
{
	const struct migration_state *state = facts_state(facts);

	if (state != NULL)
		return strcmp(pod->meta.name, state->source_pod) == 0;
	if (facts->vmi->node[0] == '\0' ||
	    strcmp(pod->node, facts->vmi->node) != 0 ||
	    strcmp(pod->vmi_uid, facts->vmi->meta.uid) != 0)
		return false;
	return facts->source_pod == NULL ||
	       pod->meta.created_us > facts->source_pod->meta.created_us;
}

void
sight_facts(const struct sight *sight, struct facts *ret_facts)
{
	struct facts *f = ret_facts;

	f->vmim = sight->vmim;
	f->vmi = sight->vmi;
	f->machine_text = sight->machine_text;
	f->others = sight->others;
	f->other_count = sight->other_count;
	f->cpu_labels = sight->cpu_labels;
	f->disks_text = sight->disks_text;
	f->source_pod = NULL;
	f->target_pod = NULL;
	f->live_pods = 0;
	for (size_t i = 0; i < sight->pod_count; i++) {
		const struct pod *pod = sight->pods[i];

		if (strcmp(pod->migration_uid, f->vmim->meta.uid) == 0) {
			/* There is one; of two the first would count. */
			if (f->target_pod == NULL)
				f->target_pod = pod;
			continue;
		}
		if (f->vmi != NULL && is_source(f, pod))
			f->source_pod = pod;
		f->live_pods += !pod_is_down(pod);
	}
}
