/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_IMAGE_H
#define CTL_IMAGE_H

/*
 * image - puts images into a node's image directory; ferry-kubelet(8) says
 * what is in there.
 *
 * An image appears whole, under its name, or not at all; one of the same name
 * is replaced in one step. The digest is that of what is in it.
 *
 * Threading: one thread.
 */

#include <stddef.h>

#include "base/js.h"

struct err;

struct image_file {
	const char *path;   /* in the image, absolute */
	const char *source; /* on this computer */
};

#define IMAGE_FILES_MAX 64

/* An image that is the computer's own file system; config has the members of
 * image.json besides kind and digest, which is that of program. */
int image_add_host(const char *dir, const char *name, const char *program,
		   const json_t *config, struct err *err);
/* An image of files. *ret_digest (may be NULL) is to be freed. */
int image_import(const char *dir, const char *name,
		 const struct image_file *files, size_t count,
		 char **ret_digest, struct err *err);
/* Calls fn for each, in no order. */
int image_each(const char *dir,
	       void (*fn)(const char *name, const json_t *config, void *arg),
	       void *arg, struct err *err);
int image_remove(const char *dir, const char *name, struct err *err);

#endif
