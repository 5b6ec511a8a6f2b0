/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_SIGHT_H
#define CONTROLLER_MIGRATION_SIGHT_H

/*
 * sight - the objects that facts about one migration are made of, from the
 * caches or from a reading, with what answers to writes said since.
 *
 * Borrows all views: those of caches are good until control goes back to the
 * loop, the others as long as their reading and note.
 */

#include <stdbool.h>
#include <stddef.h>

#include "controller/migration/facts.h"
#include "controller/migration/note.h"
#include "controller/migration/reading.h"
#include "controller/world.h"

struct sight {
	const struct vmim *vmim;  /* NULL: gone */
	const struct vmi *vmi;    /* NULL: gone, or no sense in it */
	const char *machine_text; /* as in facts.h */
	const struct vmim **others;
	size_t other_count;
	/* Those of the machine, and the one made for the migration. */
	const struct pod **pods;
	size_t pod_count;
	char *cpu_labels, *disks_text; /* as in facts.h */
};

/* note may be NULL. */
void sight_from_world(struct sight *sight, const struct world *world,
		      const char *key, const struct note *note);
void sight_from_reading(struct sight *sight, const struct world *world,
			const struct reading *reading, const struct note *note);
void sight_done(struct sight *sight);

/* Whether the caches show all that the note of a migration says, so that it
 * can be thrown away; vmi_uid: of its machine, as far as known. */
bool sight_is_current(const struct world *world, const struct note *note,
		      const char *vmi_uid);

/* All facts but the time and those of notes and slots; vmim is not NULL. */
void sight_facts(const struct sight *sight, struct facts *ret_facts);

#endif
