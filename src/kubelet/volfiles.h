/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_VOLFILES_H
#define KUBELET_VOLFILES_H

/*
 * volfiles - files that are made of objects: ConfigMaps, Secrets, tokens.
 *
 * They are gathered, then written below a directory: each whole or not at all,
 * those that are as they should be are left alone, and what does not belong
 * there goes away. Paths are relative and do not lead out.
 *
 * Threading: one thread at a time.
 */

#include <stddef.h>
#include <sys/types.h>

#include "base/js.h"

struct err;

#define VOLFILES_MAX 4096
#define VOLFILES_BYTES_MAX (16UL * 1024 * 1024)

struct volfile {
	char *path;
	char *data;
	size_t len;
	mode_t mode;
};

/* { 0 } is empty. */
struct volfiles {
	struct volfile *list;
	size_t count;
	size_t bytes;
};

void volfiles_done(struct volfiles *files);

/* Data is copied. A later one of the same path counts. */
int volfiles_add(struct volfiles *files, const char *path, const void *data,
		 size_t len, mode_t mode, struct err *err);

/*
 * The keys of a ConfigMap or Secret, all of them or those that items
 * [{"key","path","mode"}] name; a key of these that is missing is an error
 * unless optional is said. object may be NULL, for none.
 */
int volfiles_add_object(struct volfiles *files, const json_t *object,
			const json_t *source, mode_t mode, struct err *err);

/* gid is -1 for none. */
int volfiles_write(const struct volfiles *files, const char *dir, gid_t gid,
		   struct err *err);

#endif
