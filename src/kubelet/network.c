/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "kubelet/attach.h"
#include "kubelet/cni.h"
#include "kubelet/dirs.h"

struct network_op {
	struct loop *loop;
	char *dir;
	char *bin_dir;
	char *container_id;
	char *netns;
	char *args;
	json_t *attachments;
	size_t at; /* up: the next; down: those that are left */
	bool down;
	bool anyhow;
	struct cni_call *call;
	struct loop_timer *soon;
	network_done_fn *done;
	void *arg;
};

static void
file_name(size_t i, char name[16])
{
	(void)snprintf(name, 16, "%02zu.json", i);
}

json_t *
network_load(const char *dir)
{
	json_t *all = json_array();
	AUTO(close_fd) int dir_fd = -1;
	struct err err;

	if (path_open_dir(dir, &dir_fd, &err) == -1)
		return all;
	for (size_t i = 0; i <= ATTACH_MAX; i++) {
		AUTO(close_fd) int fd = -1;
		AUTO(free_ptr) char *text = NULL;
		json_t *one = NULL;
		size_t len;
		char name[16];

		file_name(i, name);
		if (path_open_at(dir_fd, name, O_RDONLY, 0, &fd, &err) == -1)
			break;
		if (path_read_fd(fd, name, NETWORK_FILE_MAX, &text, &len,
				 &err) == 0)
			one = js_parse(text, len, &err);
		(void)json_array_append_new(all,
					    one == NULL ? json_object() : one);
	}
	return all;
}

bool
network_is_up(const json_t *attachments)
{
	const json_t *one;
	size_t i;

	json_array_foreach(attachments, i, one)
	{
		if (js_obj_at(one, "result") == NULL)
			return false;
	}
	return json_array_size(attachments) > 0;
}

static void
op_free(struct network_op *op)
{
	cni_cancel(op->call);
	loop_timer_free(op->soon);
	js_unref(&op->attachments);
	free(op->dir);
	free(op->bin_dir);
	free(op->container_id);
	free(op->netns);
	free(op->args);
	free(op);
}

static void
finish(struct network_op *op, const struct err *err)
{
	op->done(err, op->arg);
	op_free(op);
}

static int
save(struct network_op *op, const json_t *attachment, struct err *err)
{
	AUTO(free_ptr) char *text = js_text(attachment);
	AUTO(close_fd) int dir_fd = -1;
	char name[16];

	if (dirs_make(op->dir, 0700, err) == -1 ||
	    path_open_dir(op->dir, &dir_fd, err) == -1)
		return -1;
	file_name(op->at, name);
	return path_write_file_at(dir_fd, name, text, strlen(text), 0600, err);
}

/* A namespace that is gone (the node was started again) has no name. */
static const char *
netns_now(const struct network_op *op)
{
	struct statfs fs;

	return statfs(op->netns, &fs) == 0 && fs.f_type == NSFS_MAGIC
		       ? op->netns
		       : "";
}

static void
run(struct network_op *op, const char *verb, const json_t *attachment,
    cni_done_fn *done)
{
	op->call = cni_start(
		&(struct cni_request){
			.loop = op->loop,
			.verb = verb,
			.bin_dir = op->bin_dir,
			.list = js_obj_at(attachment, "list"),
			.result = js_obj_at(attachment, "result"),
			.container_id = op->container_id,
			.netns = netns_now(op),
			.ifname = js_str_at(attachment, "ifname"),
			.args = op->args,
			.mac = js_str_at(attachment, "mac"),
		},
		done, op);
}

static void up_next(struct network_op *op);
static void down_next(struct network_op *op);

static void
on_added(const struct err *err, const json_t *result, void *arg)
{
	struct network_op *op = arg;
	json_t *attachment = json_array_get(op->attachments, op->at);
	struct err why;

	op->call = NULL;
	if (err == NULL) {
		(void)json_object_set_new(attachment, "result",
					  json_deep_copy(result));
		if (save(op, attachment, &why) == -1)
			err = &why;
	}
	if (err != NULL) {
		finish(op, err);
		return;
	}
	op->at++;
	up_next(op);
}

static void
up_next(struct network_op *op)
{
	const json_t *attachment = json_array_get(op->attachments, op->at);
	struct err err;

	if (attachment == NULL) {
		finish(op, NULL);
		return;
	}
	if (save(op, attachment, &err) == -1) {
		finish(op, &err);
		return;
	}
	run(op, "ADD", attachment, on_added);
}

static void
forget_last(struct network_op *op)
{
	AUTO(free_ptr) char *path = NULL;
	char name[16];

	file_name(--op->at, name);
	path = xasprintf("%s/%s", op->dir, name);
	(void)unlink(path);
}

static void
on_deleted(const struct err *err, const json_t *result, void *arg)
{
	struct network_op *op = arg;

	(void)result;
	op->call = NULL;
	/* What was never there may be hard to take down. */
	if (err != NULL && !op->anyhow &&
	    js_obj_at(json_array_get(op->attachments, op->at - 1), "result") !=
		    NULL) {
		finish(op, err);
		return;
	}
	if (err != NULL)
		log_warning(NULL,
			    "network of '%s' not taken down, ignoring: %s",
			    op->container_id, err->text);
	forget_last(op);
	down_next(op);
}

static void
down_next(struct network_op *op)
{
	const json_t *attachment = NULL;

	while (op->at > 0) {
		attachment = json_array_get(op->attachments, op->at - 1);
		if (json_array_size(js_arr_at(attachment, "list.plugins")) > 0)
			break;
		/* A file that was damaged names no plugins. */
		forget_last(op);
	}
	if (op->at == 0)
		finish(op, NULL);
	else
		run(op, "DEL", attachment, on_deleted);
}

static void
begin(void *arg)
{
	struct network_op *op = arg;

	(op->down ? down_next : up_next)(op);
}

static struct network_op *
op_new(const struct network_config *config, json_t *attachments,
       network_done_fn *done, void *arg)
{
	struct network_op *op = xmalloc0(sizeof(*op));

	op->loop = config->loop;
	op->dir = xstrdup(config->dir);
	op->bin_dir = xstrdup(config->bin_dir);
	op->container_id = xstrdup(config->container_id);
	op->netns = xstrdup(config->netns);
	op->args = xstrdup(config->args);
	op->attachments = attachments;
	op->done = done;
	op->arg = arg;
	/* From the loop, so that done never comes before this returns. */
	op->soon = loop_timer_new(op->loop, begin, op);
	loop_timer_start(op->soon, 0);
	return op;
}

struct network_op *
network_up(const struct network_config *config, const json_t *wanted,
	   network_done_fn *done, void *arg)
{
	return op_new(config, json_deep_copy(wanted), done, arg);
}

struct network_op *
network_down(const struct network_config *config, bool anyhow,
	     network_done_fn *done, void *arg)
{
	struct network_op *op =
		op_new(config, network_load(config->dir), done, arg);

	op->down = true;
	op->anyhow = anyhow;
	op->at = json_array_size(op->attachments);
	return op;
}

void
network_cancel(struct network_op *op)
{
	if (op != NULL)
		op_free(op);
}
