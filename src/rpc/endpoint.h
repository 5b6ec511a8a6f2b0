/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_ENDPOINT_H
#define RPC_ENDPOINT_H

/*
 * endpoint - unix sockets below directories that others can write to.
 *
 * A launcher, libvirt and QEMU listen on these in their pod, or connect to
 * them. The directory is the pod's, so everything below it is taken for
 * hostile: names are resolved once, relative to a descriptor of the directory
 * and without following links; what was checked is a descriptor, and that is
 * used.
 *
 * Names are those of str_is_name(), at most ENDPOINT_NAME_MAX characters;
 * others are ERR_INVALID.
 *
 * Threading: any thread. All descriptors made are non-blocking and
 * close-on-exec.
 */

#include <stdint.h>
#include <sys/types.h>

struct err;

#define ENDPOINT_NAME_MAX 100 /* characters */

#define ENDPOINT_KEEP_ID 0xffffffffU /* as uid or gid: leave it as it is */

/* To whom a socket is given. */
struct endpoint_owner {
	uint32_t uid;
	uint32_t gid;
};

/* A listening socket, and its file so that it can be known again. */
struct endpoint {
	int fd;
	uint64_t dev;
	uint64_t ino;
};

#define ENDPOINT_NONE ((struct endpoint){ .fd = -1 })

/*
 * Listens on name below dir_fd: mode 0600, owned by owner (NULL: by us). The
 * name appears only when the socket is complete: nobody else can ever connect,
 * and the owner never finds a socket that does not listen yet.
 *
 * A socket of that name that nobody serves any more is replaced. ERR_EXISTS,
 * and nothing is changed: the name is taken by a socket that is in use (by
 * this process too: close it first), a link, a file or a directory.
 *
 * On success the caller owns ret->fd; on failure *ret is not touched and
 * nothing stays behind.
 */
int endpoint_listen(int dir_fd, const char *name,
		    const struct endpoint_owner *owner, struct endpoint *ret,
		    struct err *err);

/*
 * The same for an absolute path whose directory is the operator's own, such as
 * that of the control socket; links in the directory part are followed.
 */
int endpoint_listen_path(const char *path, const struct endpoint_owner *owner,
			 struct endpoint *ret, struct err *err);

/*
 * Connects to the socket name below dir_fd, without waiting.
 *
 * ERR_NOT_FOUND: no such name (yet); ERR_REFUSED: the socket is there, nobody
 * listens; ERR_LIMIT: its queue is full, try again; ERR_INVALID: it is
 * not a stream socket; ERR_DENIED: it is a link, or not for us.
 */
int endpoint_connect(int dir_fd, const char *name, int *ret_fd,
		     struct err *err);

/*
 * Removes name below dir_fd if it is still the file of ep; a name that is gone
 * or somebody else's is left alone, and that is no error. To be called before
 * ep->fd is closed: only until then is no other file given the same number.
 */
int endpoint_unlink(int dir_fd, const char *name, const struct endpoint *ep,
		    struct err *err);
int endpoint_unlink_path(const char *path, const struct endpoint *ep,
			 struct err *err);

#endif
