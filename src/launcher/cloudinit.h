/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_CLOUDINIT_H
#define LAUNCHER_CLOUDINIT_H

/*
 * cloudinit - the disk from which a guest configures itself at its first boot.
 *
 * An ISO 9660 image with the label "cidata", with user-data, meta-data and
 * network-config. The same machine yields the same bytes wherever it is made,
 * so that a target has the source's (docs/decisions/0023).
 *
 * Threading: not from the loop's thread; waits for a program.
 */

#include "base/js.h"
#include "launcher/disks.h"

struct children;
struct err;

/* Makes the image of a cloudInitNoCloud volume at path. */
int cloudinit_make(struct children *children, const json_t *vmi,
		   const struct disk *disk, const struct disk_dirs *dirs,
		   const char *path, struct err *err);

/* The text of meta-data; the caller frees. */
char *cloudinit_meta_data(const json_t *vmi);

/*
 * A member, decoded: NAME, NAMEBase64, or the key in the secret's directory.
 * *ret_data is the caller's; NULL when the volume says none.
 */
int cloudinit_data(const struct disk *disk, const struct disk_dirs *dirs,
		   bool network, char **ret_data, size_t *ret_len,
		   struct err *err);

#endif
