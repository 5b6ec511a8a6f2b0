/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_FILES_H
#define LAUNCHER_FILES_H

/*
 * files - directories and copies, in places that are the pod's own.
 *
 * Threading: any thread.
 */

struct err;

/* Makes a directory with all those above it; one that is there is fine. */
int files_make_dir(const char *path, struct err *err);

/* The same for the directory that a file is to be in. */
int files_make_dir_of(const char *path, struct err *err);

/*
 * Copies the regular files of a directory, each whole or not at all, to
 * another, which is made. Names that begin with a dot are left out.
 */
int files_copy_dir(const char *from, const char *to, struct err *err);

#endif
