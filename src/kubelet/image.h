/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_IMAGE_H
#define KUBELET_IMAGE_H

/*
 * image - what an image's name means on this node.
 *
 * The image directory has a directory for each reference, named after it as
 * meta/imagename.h says. In it:
 *
 *	image.json	{"digest": "sha256:...", "kind": "files" or "host", ...}
 *	rootfs/		for files: the file system
 *
 * An image of the kind host is the node's own file system, read-only. Besides,
 * image.json may have, as far as a container says nothing:
 *
 *	"entrypoint", "command"	arrays of strings
 *	"env"			array of "NAME=VALUE"
 *	"workingDir", "user"	text; numbers "UID[:GID]" only
 *	"tmpfs"			paths of private, empty directories
 *				(kind host: /run and /tmp where this is missing)
 *	"binds"			[{"source", "target", "readOnly"}], of the node
 *	"devices"		paths of devices that are there if the node has
 *				them
 *
 * Threading: any thread; nothing is kept open.
 */

#include <stdbool.h>

#include "base/js.h"

struct err;

#define IMAGE_JSON_MAX (256UL * 1024)

struct image {
	char *dir;
	char *root;   /* "/" for the kind host */
	char *digest; /* "sha256:..." */
	char *ref;    /* "NAME@sha256:..." */
	bool host;
	json_t *config; /* image.json */
};

/*
 * Finds NAME, NAME:TAG or NAME[:TAG]@DIGEST. A name without a tag is also
 * looked for with the tag latest. With a digest the image must have it; it is
 * found under any reference. ERR_NOT_FOUND when it is not there, ERR_INVALID
 * when the name or its image.json is wrong. On success image_done() it.
 */
int image_find(const char *dir, const char *name, struct image *ret,
	       struct err *err);
void image_done(struct image *image);

#endif
