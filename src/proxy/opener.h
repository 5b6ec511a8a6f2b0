/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_OPENER_H
#define PROXY_OPENER_H

/*
 * opener - the process that keeps the privileges and opens things.
 *
 * The process that faces the network gives up everything; what it needs from
 * the file system afterwards (sockets in pods' directories, certificates that
 * were renewed) it asks of a child that was forked before. The child does
 * nothing else: it has no other descriptors, never touches the network, keeps
 * four capabilities for files when root, and is under a system call filter
 * of its own. It ends when its parent does. Without root it works the same
 * with the user's own rights.
 *
 *   main (network, no rights)  <-- SOCK_SEQPACKET, fixed-size messages -->
 *   opener (files, no network)
 *
 * What main can make it do: open a directory at or below an allowed one,
 * listen on, connect to or remove a socket by a plain name in such a
 * directory, and open credential files that were listed at the start.
 *
 * Every call waits for the answer, at most OPENER_TIMEOUT_MS: ERR_TIMEOUT.
 * ERR_UNAVAILABLE: the opener has died; it is not started again.
 *
 * Threading: opener_start() and opener_free() from the main thread, before and
 * after all others; the rest from any thread, one call at a time goes through.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/endpoint.h"

struct err;

#define OPENER_TIMEOUT_MS 2000U
#define OPENER_PATH_MAX 1023U /* characters of a directory's path */

struct opener_config {
	const char *const *dirs; /* allowed, absolute */
	size_t n_dirs;
	const char *const *files; /* credentials, named by index later */
	size_t n_files;
	/*
	 * Directories that came from elsewhere, such as over the control
	 * socket, are taken too. Main cannot open any itself once it is in
	 * its sandbox.
	 */
	bool foreign_dirs;
};

/* When a file was last changed: differs whenever the contents may. */
struct opener_stamp {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	uint64_t mtime_ns;
	uint64_t ctime_ns;
};

struct opener;

/*
 * Forks the opener; with all the privileges the caller has now, so before the
 * sandbox, before any thread, and before keys are read, since it has a copy of
 * the memory. The configuration is not needed afterwards. ERR_INVALID: an
 * allowed directory is not absolute.
 */
int opener_start(const struct opener_config *config, struct opener **ret_opener,
		 struct err *err);

/* Ends the opener and waits for it, at most OPENER_TIMEOUT_MS. NULL is fine. */
void opener_free(struct opener *opener);

/* Becomes readable when the opener has died; for a loop. Stays ours. */
int opener_watch_fd(const struct opener *opener);

/* For the log. */
pid_t opener_pid(const struct opener *opener);

/*
 * Opens a directory (O_PATH) at or below an allowed one: ERR_DENIED for
 * others, and for links below the allowed directory. Links on the way to the
 * allowed one are the operator's and are followed.
 */
int opener_open_dir(struct opener *opener, const char *path, int *ret_fd,
		    struct err *err);

/* As endpoint_listen(), endpoint_connect() and endpoint_unlink(). dir_fd is
 * passed along and stays the caller's; ERR_DENIED if it is not allowed. */
int opener_listen(struct opener *opener, int dir_fd, const char *name,
		  const struct endpoint_owner *owner, struct endpoint *ret,
		  struct err *err);
int opener_connect(struct opener *opener, int dir_fd, const char *name,
		   int *ret_fd, struct err *err);
int opener_unlink(struct opener *opener, int dir_fd, const char *name,
		  const struct endpoint *ep, struct err *err);

/*
 * The whole of credential file number index, at most max bytes, followed by a
 * NUL; the caller frees *ret_data. Links are followed: mounted Secrets are
 * made of them.
 */
int opener_read_file(struct opener *opener, size_t index, size_t max,
		     char **ret_data, size_t *ret_len, struct err *err);

/* What to compare to find out whether to read the file again. */
int opener_stat_file(struct opener *opener, size_t index,
		     struct opener_stamp *ret_stamp, struct err *err);

#endif
