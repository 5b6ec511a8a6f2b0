/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_DISKMAKE_H
#define LAUNCHER_DISKMAKE_H

/*
 * diskmake - makes the disks that a machine's pod does not come with.
 *
 * A disk that is there stays as it is: the same again changes nothing. Each is
 * made beside its place and renamed, so that what is there is whole.
 *
 * Threading: not from the loop's thread; waits for programs.
 */

#include "base/js.h"
#include "launcher/disks.h"

struct children;
struct err;

/*
 * Makes the disks of a plan that was examined, and finds out which of them can
 * be opened with O_DIRECT. Errors name the volume.
 */
int diskmake_all(struct children *children, const json_t *vmi,
		 struct disks *disks, const struct disk_dirs *dirs,
		 struct err *err);

#endif
