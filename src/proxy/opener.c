/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "proxy/opener_internal.h"
#include "rpc/fds.h"

struct opener {
	pid_t pid;
	int pid_fd;
	char **files; /* names, for errors */
	size_t n_files;
	pthread_mutex_t lock; /* one call at a time; protects the rest */
	int sock;             /* non-blocking */
	uint32_t last_number;
};

static int
gone(struct err *err)
{
	return err_set(err, ERR_UNAVAILABLE,
		       "the process that opens files has died");
}

/* Waits for events on the socket until the deadline. */
static int
wait_sock(const struct opener *opener, short events, uint64_t deadline_ms,
	  struct err *err)
{
	struct pollfd pfd = { .fd = opener->sock, .events = events };
	uint64_t now;
	int rc;

	do {
		now = loop_now_ms();
		if (now >= deadline_ms)
			return err_set(err, ERR_TIMEOUT,
				       "the process that opens files did not "
				       "answer within %u ms",
				       OPENER_TIMEOUT_MS);
		rc = poll(&pfd, 1, (int)(deadline_ms - now));
	} while (rc == 0 || (rc == -1 && errno == EINTR));
	if (rc == -1)
		return err_errno(err, "cannot wait for the opener");
	return 0;
}

static int
send_request(const struct opener *opener, const struct opener_request *request,
	     int fd, uint64_t deadline_ms, struct err *err)
{
	ssize_t sent;

	for (;;) {
		sent = rpc_fds_send(opener->sock, request, sizeof(*request),
				    &fd, fd >= 0 ? 1 : 0);
		if (sent >= 0)
			return 0;
		if (errno == EPIPE || errno == ECONNRESET)
			return gone(err);
		if (errno != EAGAIN && errno != EINTR)
			return err_errno(err, "cannot ask the opener");
		if (wait_sock(opener, POLLOUT, deadline_ms, err) == -1)
			return -1;
	}
}

/*
 * Receives the reply with this number. Others are answers that came too late
 * for a call that is over; what they brought is closed.
 */
static int
receive_reply(const struct opener *opener, uint32_t number,
	      struct opener_reply *ret_reply, int *ret_fd, uint64_t deadline_ms,
	      struct err *err)
{
	struct rpc_fds fds;
	ssize_t got;

	for (;;) {
		if (wait_sock(opener, POLLIN, deadline_ms, err) == -1)
			return -1;
		got = rpc_fds_receive(opener->sock, ret_reply,
				      sizeof(*ret_reply), &fds);
		if (got == -1 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got == 0 || (got == -1 && errno == ECONNRESET))
			return gone(err);
		if (got == -1)
			return err_errno(err, "cannot hear the opener");
		if (got == (ssize_t)sizeof(*ret_reply) &&
		    ret_reply->number == number)
			break;
		rpc_fds_done(&fds);
	}
	*ret_fd = rpc_fds_take(&fds, 0);
	rpc_fds_done(&fds);
	return 0;
}

static int
exchange(struct opener *opener, struct opener_request *request, int fd,
	 struct opener_reply *ret_reply, int *ret_fd, struct err *err)
{
	uint64_t deadline_ms = loop_now_ms() + OPENER_TIMEOUT_MS;

	if (opener->last_number++ == UINT32_MAX)
		opener->last_number = OPENER_HELLO + 1;
	request->number = opener->last_number;
	if (send_request(opener, request, fd, deadline_ms, err) == -1)
		return -1;
	return receive_reply(opener, request->number, ret_reply, ret_fd,
			     deadline_ms, err);
}

/*
 * One call: fd goes along unless -1. On success *ret_fd is what came back, if
 * something was to come; NULL if not.
 */
static int
call(struct opener *opener, struct opener_request *request, int fd,
     struct opener_stamp *ret_stamp, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int got = -1;
	struct opener_reply reply;
	int rc;

	(void)pthread_mutex_lock(&opener->lock);
	rc = exchange(opener, request, fd, &reply, &got, err);
	(void)pthread_mutex_unlock(&opener->lock);
	if (rc == -1)
		return -1;
	if (reply.failed) {
		*err = reply.err;
		return -1;
	}
	if (ret_fd != NULL && got == -1)
		return err_set(err, ERR_LIMIT,
			       "no descriptor is left for what was opened");
	if (ret_fd != NULL)
		*ret_fd = TAKE_FD(got);
	if (ret_stamp != NULL)
		*ret_stamp = reply.stamp;
	return 0;
}

static int
set_name(struct opener_request *request, const char *name, struct err *err)
{
	if (!str_is_name(name, ENDPOINT_NAME_MAX))
		return err_set(err, ERR_INVALID,
			       "'%.120s' is not a socket's name", name);
	memcpy(request->name, name, strlen(name));
	return 0;
}

int
opener_open_dir(struct opener *opener, const char *path, int *ret_fd,
		struct err *err)
{
	struct opener_request request = { .op = OPENER_OPEN_DIR };

	if (path[0] != '/')
		return err_set(err, ERR_INVALID,
			       "'%.160s' is not an absolute path", path);
	if (strlen(path) > OPENER_PATH_MAX)
		return err_set(err, ERR_INVALID, "'%.60s...' is too long",
			       path);
	memcpy(request.path, path, strlen(path));
	return call(opener, &request, -1, NULL, ret_fd, err);
}

int
opener_listen(struct opener *opener, int dir_fd, const char *name,
	      const struct endpoint_owner *owner, struct endpoint *ret,
	      struct err *err)
{
	struct opener_request request = { .op = OPENER_LISTEN };
	struct opener_stamp stamp;
	int fd;

	if (set_name(&request, name, err) == -1)
		return -1;
	if (owner != NULL) {
		request.give = 1;
		request.owner = *owner;
	}
	if (call(opener, &request, dir_fd, &stamp, &fd, err) == -1)
		return -1;
	*ret = (struct endpoint){ fd, stamp.dev, stamp.ino };
	return 0;
}

int
opener_connect(struct opener *opener, int dir_fd, const char *name, int *ret_fd,
	       struct err *err)
{
	struct opener_request request = { .op = OPENER_CONNECT };

	if (set_name(&request, name, err) == -1)
		return -1;
	return call(opener, &request, dir_fd, NULL, ret_fd, err);
}

int
opener_unlink(struct opener *opener, int dir_fd, const char *name,
	      const struct endpoint *ep, struct err *err)
{
	struct opener_request request = { .op = OPENER_UNLINK,
					  .dev = ep->dev,
					  .ino = ep->ino };

	if (set_name(&request, name, err) == -1)
		return -1;
	return call(opener, &request, dir_fd, NULL, NULL, err);
}

static int
set_index(const struct opener *opener, struct opener_request *request,
	  size_t index, struct err *err)
{
	if (index >= opener->n_files)
		return err_set(err, ERR_INVALID,
			       "there is no credential file number %zu", index);
	request->index = (uint32_t)index;
	return 0;
}

int
opener_read_file(struct opener *opener, size_t index, size_t max,
		 char **ret_data, size_t *ret_len, struct err *err)
{
	struct opener_request request = { .op = OPENER_OPEN_FILE };
	AUTO(close_fd) int fd = -1;

	if (set_index(opener, &request, index, err) == -1 ||
	    call(opener, &request, -1, NULL, &fd, err) == -1)
		return -1;
	return path_read_fd(fd, opener->files[index], max, ret_data, ret_len,
			    err);
}

int
opener_stat_file(struct opener *opener, size_t index,
		 struct opener_stamp *ret_stamp, struct err *err)
{
	struct opener_request request = { .op = OPENER_STAT_FILE };

	if (set_index(opener, &request, index, err) == -1)
		return -1;
	return call(opener, &request, -1, ret_stamp, NULL, err);
}

static int
check_config(const struct opener_config *config, struct err *err)
{
	for (size_t i = 0; i < config->n_dirs; i++) {
		if (config->dirs[i][0] != '/')
			return err_set(err, ERR_INVALID,
				       "directory '%.160s' is not an absolute "
				       "path",
				       config->dirs[i]);
	}
	return 0;
}

static int
hear_hello(const struct opener *opener, struct err *err)
{
	uint64_t deadline_ms = loop_now_ms() + OPENER_TIMEOUT_MS;
	struct opener_reply reply;
	int none;

	if (receive_reply(opener, OPENER_HELLO, &reply, &none, deadline_ms,
			  err) == -1)
		return -1;
	if (!reply.failed)
		return 0;
	*err = reply.err;
	return err_prefix(err, "the process that opens files");
}

/* Takes sock. */
static struct opener *
make_opener(const struct opener_config *config, pid_t pid, int sock)
{
	struct opener *opener = xmalloc0(sizeof(*opener));

	opener->pid = pid;
	opener->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	opener->sock = sock;
	opener->files = xcalloc(config->n_files, sizeof(*opener->files));
	for (; opener->n_files < config->n_files; opener->n_files++)
		opener->files[opener->n_files] =
			xstrdup(config->files[opener->n_files]);
	(void)pthread_mutex_init(&opener->lock, NULL);
	return opener;
}

int
opener_start(const struct opener_config *config, struct opener **ret_opener,
	     struct err *err)
{
	AUTO(close_fd) int ours = -1;
	AUTO(close_fd) int theirs = -1;
	struct opener *opener;
	int pair[2];
	pid_t pid;

	if (check_config(config, err) == -1)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return err_errno(err, "cannot make a pair of sockets");
	ours = pair[0];
	theirs = pair[1];
	if (fcntl(ours, F_SETFL, O_NONBLOCK) == -1)
		return err_errno(err, "cannot set up a socket");
	pid = fork();
	if (pid == -1)
		return err_errno(err, "cannot start the opener");
	if (pid == 0)
		opener_child(theirs, config);

	close_fd(&theirs); /* so that the opener's end is noticed */
	opener = make_opener(config, pid, TAKE_FD(ours));
	if (opener->pid_fd == -1) {
		(void)err_errno(err, "cannot watch the opener");
	} else if (hear_hello(opener, err) == 0) {
		*ret_opener = opener;
		return 0;
	}
	opener_free(opener);
	return -1;
}

void
opener_free(struct opener *opener)
{
	struct pollfd pfd;
	int rc;

	if (opener == NULL)
		return;
	/* That is how it is told to end. */
	close_fd(&opener->sock);
	pfd = (struct pollfd){ .fd = opener->pid_fd, .events = POLLIN };
	do
		rc = poll(&pfd, 1, (int)OPENER_TIMEOUT_MS);
	while (rc == -1 && errno == EINTR);
	/* One that hangs in a dead file system is left to init. */
	(void)waitpid(opener->pid, NULL, WNOHANG);
	close_fd(&opener->pid_fd);
	for (size_t i = 0; i < opener->n_files; i++)
		free(opener->files[i]);
	free(opener->files);
	(void)pthread_mutex_destroy(&opener->lock);
	free(opener);
}

int
opener_watch_fd(const struct opener *opener)
{
	return opener->pid_fd;
}

pid_t
opener_pid(const struct opener *opener)
{
	return opener->pid;
}
