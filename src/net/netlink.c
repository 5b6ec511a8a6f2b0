/* SPDX-License-Identifier: Apache-2.0 */
#include "net/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <libmnl/libmnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/netns.h"

/* Room for what one answer of a dump may be; the kernel uses up to 32 KiB. */
#define ANSWER_SIZE 32768
#define REQUEST_SIZE 4096
/* How often a list is begun again because it changed meanwhile. */
#define LIST_TRIES 16

struct netlink {
	struct mnl_socket *socket;
	uint32_t sequence;
	char request[REQUEST_SIZE];
	char answer[ANSWER_SIZE];
};

static int
open_socket(void *arg, struct err *err)
{
	struct netlink *nl = arg;

	nl->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (nl->socket == NULL ||
	    mnl_socket_bind(nl->socket, 0, MNL_SOCKET_AUTOPID) == -1)
		return err_errno(err, "cannot open a netlink socket");
	return 0;
}

int
netlink_open(int netns_fd, struct netlink **ret, struct err *err)
{
	static const struct timeval timeout = {
		.tv_sec = NETLINK_TIMEOUT_MS / 1000,
		.tv_usec = NETLINK_TIMEOUT_MS % 1000 * 1000,
	};
	AUTO(netlink_unref) struct netlink *nl = xmalloc0(sizeof(*nl));
	int on = 1;
	int fd;

	if (netns_run(netns_fd, open_socket, nl, err) == -1)
		return -1;
	fd = mnl_socket_get_fd(nl->socket);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
		       sizeof(timeout)) == -1)
		return err_errno(err, "cannot limit the wait for netlink");
	/* Only for better texts and answers. */
	(void)mnl_socket_setsockopt(nl->socket, NETLINK_EXT_ACK, &on,
				    sizeof(on));
	(void)mnl_socket_setsockopt(nl->socket, NETLINK_CAP_ACK, &on,
				    sizeof(on));
	(void)mnl_socket_setsockopt(nl->socket, NETLINK_GET_STRICT_CHK, &on,
				    sizeof(on));
	*ret = TAKE_PTR(nl);
	return 0;
}

void
netlink_free(struct netlink *nl)
{
	if (nl == NULL)
		return;
	if (nl->socket != NULL)
		(void)mnl_socket_close(nl->socket);
	free(nl);
}

void
netlink_unref(struct netlink **nl)
{
	netlink_free(*nl);
	*nl = NULL;
}

struct nlmsghdr *
netlink_begin(struct netlink *nl, uint16_t type, uint16_t flags,
	      size_t extra_len, void **ret_extra)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(nl->request);

	header->nlmsg_type = type;
	header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	header->nlmsg_seq = ++nl->sequence;
	*ret_extra = mnl_nlmsg_put_extra_header(header, extra_len);
	return header;
}

static int
send_request(struct netlink *nl)
{
	struct nlmsghdr *header = (void *)nl->request;

	return mnl_socket_sendto(nl->socket, header, header->nlmsg_len) == -1
		       ? -1
		       : 0;
}

static int
keep_message(const struct nlattr *attr, void *arg)
{
	const char **text = arg;

	if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
	    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
		*text = mnl_attr_get_str(attr);
	return MNL_CB_OK;
}

/* What the kernel says beside the number; "" for nothing. */
static const char *
kernel_text(const struct nlmsghdr *answer)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(answer);
	size_t offset = sizeof(*error);
	const char *text = "";

	if (!(answer->nlmsg_flags & NLM_F_ACK_TLVS))
		return "";
	if (!(answer->nlmsg_flags & NLM_F_CAPPED))
		offset += mnl_nlmsg_get_payload_len(&error->msg);
	(void)mnl_attr_parse(answer, (unsigned)offset, keep_message, &text);
	return text;
}

static int
receive(struct netlink *nl, const char *what, const char *name, ssize_t *ret_n,
	struct err *err)
{
	ssize_t n;

	do
		n = mnl_socket_recvfrom(nl->socket, nl->answer,
					sizeof(nl->answer));
	while (n == -1 && errno == EINTR);
	if (n == -1 && errno == EAGAIN)
		return err_set(err, ERR_TIMEOUT,
			       "cannot %s '%s': the kernel does not answer",
			       what, name);
	if (n == -1)
		return err_errno(err, "cannot %s '%s'", what, name);
	*ret_n = n;
	return 0;
}

static int
report(const struct nlmsghdr *answer, const char *what, const char *name,
       struct err *err)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(answer);
	const char *text = kernel_text(answer);
	const char *colon = text[0] != '\0' ? ": " : "";

	if (error->error == 0)
		return 0;
	errno = -error->error;
	return err_errno(err, "cannot %s '%s'%s%s", what, name, colon, text);
}

int
netlink_change(struct netlink *nl, const char *what, const char *name,
	       struct err *err)
{
	struct nlmsghdr *header = (void *)nl->request;

	header->nlmsg_flags |= NLM_F_ACK;
	if (send_request(nl) == -1)
		return err_errno(err, "cannot %s '%s'", what, name);
	for (;;) {
		const struct nlmsghdr *answer = (void *)nl->answer;
		ssize_t n;

		if (receive(nl, what, name, &n, err) == -1)
			return -1;
		if (!mnl_nlmsg_ok(answer, (int)n))
			return err_set(err, ERR_INTERNAL,
				       "cannot %s '%s': answer is cut", what,
				       name);
		/* An answer to a request that was given up before. */
		if (answer->nlmsg_seq != nl->sequence ||
		    answer->nlmsg_type != NLMSG_ERROR)
			continue;
		return report(answer, what, name, err);
	}
}

struct list {
	struct netlink *nl;
	const struct netlink_query *query;
	char *items;
	size_t count;
	size_t room;
	bool changed; /* while it was read: to be begun again */
};

static void
list_done(struct list *list)
{
	free(list->items);
}

static int
take_object(struct list *list, const struct nlmsghdr *message, struct err *err)
{
	size_t size = list->query->item_size;
	char *item;

	if (list->count == NETLINK_OBJECTS_MAX)
		return err_set(err, ERR_LIMIT, "cannot %s: more than %d",
			       list->query->what, NETLINK_OBJECTS_MAX);
	if (list->count == list->room) {
		list->room = list->room == 0 ? 16 : 2 * list->room;
		list->items = xrealloc(list->items, list->room * size);
	}
	item = list->items + list->count * size;
	memset(item, 0, size);
	if (list->query->read(message, item))
		list->count++;
	return 0;
}

/* Takes one answer's objects; 1 when it was the last, -1 on failure. */
static int
take_answer(struct list *list, ssize_t n, struct err *err)
{
	const struct nlmsghdr *m = (void *)list->nl->answer;
	int left = (int)n;

	for (; mnl_nlmsg_ok(m, left); m = mnl_nlmsg_next(m, &left)) {
		if (m->nlmsg_seq != list->nl->sequence)
			continue;
		if (m->nlmsg_flags & NLM_F_DUMP_INTR)
			list->changed = true;
		if (m->nlmsg_type == NLMSG_DONE)
			return 1;
		if (m->nlmsg_type == NLMSG_ERROR)
			return report(m, list->query->what, "", err) == -1 ? -1
									   : 1;
		if (take_object(list, m, err) == -1)
			return -1;
	}
	return 0;
}

static int
read_list(struct list *list, struct err *err)
{
	struct nlmsghdr *header = (void *)list->nl->request;
	int end = 0;

	list->count = 0;
	list->changed = false;
	header->nlmsg_flags |= NLM_F_DUMP;
	header->nlmsg_seq = ++list->nl->sequence;
	if (send_request(list->nl) == -1)
		return err_errno(err, "cannot %s", list->query->what);
	while (end == 0) {
		ssize_t n;

		if (receive(list->nl, list->query->what, "", &n, err) == -1)
			return -1;
		end = take_answer(list, n, err);
	}
	return end == 1 ? 0 : -1;
}

int
netlink_list(struct netlink *nl, const struct netlink_query *query,
	     void *ret_items, size_t *ret_count, struct err *err)
{
	AUTO(list_done) struct list list = { .nl = nl, .query = query };
	void *items;

	for (int i = 0; i < LIST_TRIES; i++) {
		if (read_list(&list, err) == -1)
			return -1;
		if (list.changed)
			continue;
		items = TAKE_PTR(list.items);
		memcpy(ret_items, &items, sizeof(items));
		*ret_count = list.count;
		return 0;
	}
	return err_set(err, ERR_CONFLICT, "cannot %s: they keep changing",
		       query->what);
}
