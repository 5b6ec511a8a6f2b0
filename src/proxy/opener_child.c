/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/opener_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "proxy/sandbox.h"
#include "rpc/fds.h"

#define SOCK_FD 3
#define NS_PER_S 1000000000ULL

/* What a request needs to be one. */
static const struct {
	unsigned n_fds;
	bool name;
	bool path;
	bool index;
} needs[] = {
	[OPENER_OPEN_DIR] = { .path = true },
	[OPENER_LISTEN] = { .n_fds = 1, .name = true },
	[OPENER_CONNECT] = { .n_fds = 1, .name = true },
	[OPENER_UNLINK] = { .n_fds = 1, .name = true },
	[OPENER_OPEN_FILE] = { .index = true },
	[OPENER_STAT_FILE] = { .index = true },
};
static_assert(ARRAY_LEN(needs) == OPENER_OP_COUNT, "an operation has no row");

static int
check_request(const struct opener_config *config,
	      const struct opener_request *request, size_t n_fds,
	      struct err *err)
{
	uint32_t op = request->op;

	if (op >= OPENER_OP_COUNT || n_fds != needs[op].n_fds)
		return err_set(err, ERR_INVALID, "not a request");
	if (needs[op].path &&
	    (memchr(request->path, '\0', sizeof(request->path)) == NULL ||
	     request->path[0] != '/'))
		return err_set(err, ERR_INVALID, "not an absolute path");
	if (needs[op].name &&
	    (memchr(request->name, '\0', sizeof(request->name)) == NULL ||
	     !str_is_name(request->name, ENDPOINT_NAME_MAX)))
		return err_set(err, ERR_INVALID, "not a socket's name");
	if (needs[op].index && request->index >= config->n_files)
		return err_set(err, ERR_INVALID, "no such credential file");
	return 0;
}

/* The rest of path below dir, NULL if it is elsewhere; "" for dir itself. */
static const char *
below(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (strncmp(dir, path, len) != 0)
		return NULL;
	path += len;
	/* "/" is the one directory whose name ends in a slash. */
	if (len > 1 && *path != '\0' && *path != '/')
		return NULL;
	return path + strspn(path, "/");
}

static int
open_allowed(const char *dir, int *ret_fd, struct err *err)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return err_errno(err, "cannot open '%s'", dir);
	*ret_fd = fd;
	return 0;
}

/*
 * The allowed directory is the operator's own and may lie behind links; what
 * is below it may be anybody's. Of nested ones the first match decides.
 */
static int
open_dir(const struct opener_config *config, const char *path, int *ret_fd,
	 struct err *err)
{
	for (size_t i = 0; i < config->n_dirs; i++) {
		const char *rest = below(config->dirs[i], path);
		AUTO(close_fd) int fd = -1;

		if (rest == NULL)
			continue;
		if (open_allowed(config->dirs[i], &fd, err) == -1)
			return -1;
		if (*rest != '\0')
			return path_open_at(fd, rest, O_PATH | O_DIRECTORY, 0,
					    ret_fd, err);
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	return err_set(err, ERR_DENIED,
		       "directory '%.160s' is not at or below an allowed one",
		       path);
}

/* Where the kernel says that a directory is. */
static int
real_path(int fd, char ret_path[PATH_MAX], struct err *err)
{
	char link[32];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, ret_path, PATH_MAX - 1);
	if (len == -1)
		return err_errno(err, "cannot find out where it is");
	ret_path[len] = '\0';
	return 0;
}

static bool
dir_is_below(int fd, const char *dir)
{
	char path[PATH_MAX], allowed[PATH_MAX];
	AUTO(close_fd) int allowed_fd = -1;
	struct err ignored;

	return open_allowed(dir, &allowed_fd, &ignored) == 0 &&
	       real_path(allowed_fd, allowed, &ignored) == 0 &&
	       real_path(fd, path, &ignored) == 0 &&
	       below(allowed, path) != NULL;
}

static int
check_dir(const struct opener_config *config, int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return err_errno(err, "cannot examine the directory");
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "not a directory");
	if (config->foreign_dirs)
		return 0;
	for (size_t i = 0; i < config->n_dirs; i++) {
		if (dir_is_below(fd, config->dirs[i]))
			return 0;
	}
	return err_set(err, ERR_DENIED, "the directory is not allowed");
}

static uint64_t
to_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * NS_PER_S + (uint64_t)ts->tv_nsec;
}

static struct opener_stamp
stamp_of(const struct stat *st)
{
	return (struct opener_stamp){ .dev = st->st_dev,
				      .ino = st->st_ino,
				      .size = (uint64_t)st->st_size,
				      .mtime_ns = to_ns(&st->st_mtim),
				      .ctime_ns = to_ns(&st->st_ctim) };
}

/* Without waiting for a writer, should it be a fifo. */
static int
open_file(const char *path, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	struct stat st;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd == -1)
		return err_errno(err, "cannot open '%s'", path);
	if (fstat(fd, &st) == -1)
		return err_errno(err, "cannot examine '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is not a file", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int
stat_file(const char *path, struct opener_stamp *ret_stamp, struct err *err)
{
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, 0) == -1)
		return err_errno(err, "cannot examine '%s'", path);
	*ret_stamp = stamp_of(&st);
	return 0;
}

static int
serve_listen(const struct opener_request *request, int dir_fd,
	     struct opener_stamp *ret_stamp, int *ret_fd, struct err *err)
{
	struct endpoint ep;

	if (endpoint_listen(dir_fd, request->name,
			    request->give ? &request->owner : NULL, &ep,
			    err) == -1)
		return -1;
	ret_stamp->dev = ep.dev;
	ret_stamp->ino = ep.ino;
	*ret_fd = ep.fd;
	return 0;
}

static int
serve(const struct opener_config *config, const struct opener_request *request,
      const int *fds, struct opener_stamp *ret_stamp, int *ret_fd,
      struct err *err)
{
	const struct endpoint ep = { .fd = -1,
				     .dev = request->dev,
				     .ino = request->ino };

	if (needs[request->op].n_fds > 0 && check_dir(config, fds[0], err))
		return -1;
	switch ((enum opener_op)request->op) {
	case OPENER_OPEN_DIR:
		return open_dir(config, request->path, ret_fd, err);
	case OPENER_LISTEN:
		return serve_listen(request, fds[0], ret_stamp, ret_fd, err);
	case OPENER_CONNECT:
		return endpoint_connect(fds[0], request->name, ret_fd, err);
	case OPENER_UNLINK:
		return endpoint_unlink(fds[0], request->name, &ep, err);
	case OPENER_OPEN_FILE:
		return open_file(config->files[request->index], ret_fd, err);
	case OPENER_STAT_FILE:
		return stat_file(config->files[request->index], ret_stamp, err);
	case OPENER_OP_COUNT:
		break;
	}
	return err_set(err, ERR_INVALID, "not a request");
}

void
opener_serve(const struct opener_config *config,
	     const struct opener_request *request, const int *fds, size_t n_fds,
	     struct opener_reply *ret_reply, int *ret_fd)
{
	*ret_reply = (struct opener_reply){ .number = request->number };
	*ret_fd = -1;
	if (check_request(config, request, n_fds, &ret_reply->err) == -1 ||
	    serve(config, request, fds, &ret_reply->stamp, ret_fd,
		  &ret_reply->err) == -1)
		ret_reply->failed = 1;
}

/*
 * It ends by its socket, not by signals: a terminal and a service manager send
 * theirs to all processes at once, and main still has sockets to remove.
 */
static void
ignore_signals(void)
{
	static const int ignored[] = { SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
				       SIGPIPE, SIGUSR1, SIGUSR2 };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Nothing stays open but the socket, as SOCK_FD, and stderr for last words.
 * stdin and stdout are replaced: who reads main's output must not wait for us.
 */
static int
close_others(int sock, struct err *err)
{
	int null = open("/dev/null", O_RDWR);

	/* Out of the way of the numbers that are given out below. */
	sock = fcntl(sock, F_DUPFD_CLOEXEC, SOCK_FD + 1);
	if (null == -1 || sock == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 ||
	    dup3(sock, SOCK_FD, O_CLOEXEC) == -1 ||
	    close_range(SOCK_FD + 1, ~0U, 0) == -1)
		return err_errno(err, "cannot close its descriptors");
	return 0;
}

static int
confine(struct err *err)
{
	struct sandbox sandbox = { 0 };

	if (sandbox_keep_file_capabilities(err) == -1)
		return -1;
	/* Of use while main has our user; otherwise the socket tells. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		return err_errno(err, "cannot ask for the parent's end");
	return sandbox_seccomp(&sandbox, SANDBOX_OPENER, err);
}

static void
send_reply(const struct opener_reply *reply, int fd)
{
	ssize_t sent;

	do
		sent = rpc_fds_send(SOCK_FD, reply, sizeof(*reply), &fd,
				    fd >= 0 ? 1 : 0);
	while (sent == -1 && errno == EINTR);
	if (sent != (ssize_t)sizeof(*reply))
		_exit(1);
}

/* Serves one request; false at the end of the socket. */
static bool
serve_next(const struct opener_config *config)
{
	/* One byte more, so that a packet that is too long is noticed. */
	union {
		struct opener_request request;
		char bytes[sizeof(struct opener_request) + 1];
	} packet;
	AUTO(rpc_fds_done) struct rpc_fds fds;
	struct opener_reply reply;
	AUTO(close_fd) int fd = -1;
	ssize_t got;

	got = rpc_fds_receive(SOCK_FD, &packet, sizeof(packet), &fds);
	if (got == -1 && (errno == EINTR || errno == EMSGSIZE))
		return true;
	if (got <= 0)
		return false;
	if (got != (ssize_t)sizeof(packet.request))
		packet.request = (struct opener_request){
			.op = OPENER_OP_COUNT,
		};
	opener_serve(config, &packet.request, fds.fd, fds.count, &reply, &fd);
	send_reply(&reply, fd);
	return true;
}

void
opener_child(int sock, const struct opener_config *config)
{
	struct opener_reply hello = { .number = OPENER_HELLO };

	(void)prctl(PR_SET_NAME, "ferry-opener");
	ignore_signals();
	if (close_others(sock, &hello.err) == -1)
		_exit(1); /* without a socket to say so on */
	if (confine(&hello.err) == -1)
		hello.failed = 1;
	send_reply(&hello, -1);
	if (hello.failed)
		_exit(1);

	while (serve_next(config))
		;
	_exit(0);
}
