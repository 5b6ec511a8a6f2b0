/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_VMI_VOLUMES_H
#define API_VMI_VOLUMES_H

/*
 * vmi_volumes - the volumes of a machine, for vmi.c and the checks.
 *
 * Threading: as objmeta.h.
 */

#include "api/vmi.h"

struct err;

/* The member of a volume that says what it is: "containerDisk". NULL when
 * there is none, or ret_count is not 1. */
const char *vmi_volume_source(const json_t *volume, size_t *ret_count);

/* Fills volumes and volume_count. More than VMI_VOLUMES_MAX fail. */
int vmi_volumes_decode(const json_t *object, struct vmi *vmi, struct err *err);
void vmi_volumes_done(struct vmi *vmi);

#endif
