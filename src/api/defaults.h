/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_DEFAULTS_H
#define API_DEFAULTS_H

/*
 * defaults - what admission adds to objects before they are checked and kept.
 *
 * What an object says stays, but for the label of a migration. Doing it twice
 * changes nothing more. A member of a wrong type is replaced or left, and then
 * found by the checks.
 *
 * Threading: any thread, with JSON of its own.
 */

#include "base/js.h"

struct kubevirt_config;

/* The label by which migrations of a machine are found, whatever it was, and
 * the finalizer that keeps a deleted one until it has been given up. */
void vmim_set_defaults(json_t *object);

/*
 * The finalizer; CPU topology and model, machine type, ACPI, the time to shut
 * down; a disk for each volume, a bus and a model where none is said; an
 * interface in the pod's network if there is none and nobody minds. uuid is for
 * a firmware that has none: it has to stay the same wherever the machine runs.
 */
void vmi_set_defaults(json_t *object, const struct kubevirt_config *config,
		      const char *uuid);

/* The type of its machine, which stays when the default changes later. */
void vm_set_defaults(json_t *object, const struct kubevirt_config *config);

#endif
