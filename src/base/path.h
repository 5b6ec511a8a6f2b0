/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/*
 * path - opening files below directories that others can write to.
 *
 * Directories and what is below them are opened with openat2(2) and
 * RESOLVE_NO_SYMLINKS and, below a directory descriptor, RESOLVE_BENEATH: no
 * symbolic link anywhere on the way is followed, and nothing outside the
 * directory is reached. What was checked is the descriptor; paths are never
 * resolved twice. All descriptors are close-on-exec.
 *
 * A symbolic link in the way, or a way out of the directory, is ERR_DENIED; a
 * missing file is ERR_NOT_FOUND. ret_... are not touched on failure.
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

/*
 * The whole of a regular file of at most max bytes, NUL-terminated; the caller
 * frees *ret_data. path_read_file() is for paths the operator configured: it
 * follows symbolic links, since Kubernetes mounts secrets through them.
 * path_read_fd() reads from the start, wherever the descriptor stands; name is
 * for the error.
 */
int path_read_file(const char *path, size_t max, char **ret_data,
		   size_t *ret_len, struct err *err);
int path_read_fd(int fd, const char *name, size_t max, char **ret_data,
		 size_t *ret_len, struct err *err);

/*
 * Writes a temporary file in dir_fd, then renames it to name: readers see the
 * old contents or the new, also after a crash. The mode is exact, whatever the
 * umask. On failure the old file is as it was and nothing else stays behind.
 */
int path_write_file_at(int dir_fd, const char *name, const void *data,
		       size_t len, mode_t mode, struct err *err);

/*
 * Removes a directory and all that is in it; links, but not what they lead to.
 * Only for directories that nobody else writes to: names in it are resolved as
 * they come. After a failure part of it may be gone.
 */
int path_remove_tree(const char *path, struct err *err);

/* Splits "/a/b/c" into its directory "/a/b" (caller frees) and name "c", which
 * points into path. Relative paths, those that end in a slash and the names
 * "." and ".." are ERR_INVALID. */
int path_split(const char *path, char **ret_dir, const char **ret_name,
	       struct err *err);

#endif
