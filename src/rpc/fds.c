/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/fds.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CONTROL_SIZE CMSG_SPACE(RPC_FDS_MAX * sizeof(int))

int
rpc_fds_take(struct rpc_fds *fds, size_t index)
{
	int fd;

	if (index >= fds->count)
		return -1;
	fd = fds->fd[index];
	fds->fd[index] = -1;
	return fd;
}

void
rpc_fds_done(struct rpc_fds *fds)
{
	for (size_t i = 0; i < fds->count; i++) {
		if (fds->fd[i] >= 0)
			(void)close(fds->fd[i]);
	}
	fds->count = 0;
}

ssize_t
rpc_fds_send(int sock, const void *data, size_t len, const int *fds,
	     size_t count)
{
	_Alignas(struct cmsghdr) char control[CONTROL_SIZE] = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data,
			     .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (count > RPC_FDS_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (count > 0) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, count * sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL);
}

/* Moves the descriptors of one header; too many are closed. */
static void
collect(struct cmsghdr *cmsg, struct rpc_fds *fds)
{
	size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < count; i++) {
		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
		if (fds->count < RPC_FDS_MAX)
			fds->fd[fds->count++] = fd;
		else
			(void)close(fd);
	}
}

ssize_t
rpc_fds_receive(int sock, void *data, size_t len, struct rpc_fds *ret_fds)
{
	_Alignas(struct cmsghdr) char control[CONTROL_SIZE];
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t got;

	ret_fds->count = 0;
	got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	if (got == -1)
		return -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL;
	     c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			collect(c, ret_fds);
	}
	/* The kernel has closed those that did not fit. */
	if (msg.msg_flags & MSG_CTRUNC) {
		rpc_fds_done(ret_fds);
		errno = EMSGSIZE;
		return -1;
	}
	return got;
}
