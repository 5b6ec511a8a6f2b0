/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/*
 * path - opening files below directories that others can write to.
 *
 * Everything is openat2(2) with RESOLVE_NO_SYMLINKS and, below a directory
 * descriptor, RESOLVE_BENEATH: no symbolic link anywhere on the way is
 * followed, and nothing outside the directory is reached. What was checked is
 * the descriptor; paths are never resolved twice.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* Opens a directory (O_PATH). Symbolic links in path are refused. */
int path_open_dir(const char *path, int *ret_fd, struct err *err);

/* Opens name below dir_fd, beneath and without symbolic links. */
int path_open_at(int dir_fd, const char *name, int flags, mode_t mode,
		 int *ret_fd, struct err *err);

/* The whole of a regular file of at most max bytes, NUL-terminated; the
 * caller frees *ret_data. */
int path_read_file(const char *path, size_t max, char **ret_data,
		   size_t *ret_len, struct err *err);
int path_read_fd(int fd, const char *name, size_t max, char **ret_data,
		 size_t *ret_len, struct err *err);

/* Writes name in dir_fd as a temporary file, then renames it into place. */
int path_write_file_at(int dir_fd, const char *name, const void *data,
		       size_t len, mode_t mode, struct err *err);

/* Splits "/a/b/c" into its directory "/a/b" (caller frees) and name "c".
 * Relative paths and those without a name are ERR_INVALID. */
int path_split(const char *path, char **ret_dir, const char **ret_name,
	       struct err *err);

#endif
