/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/probetarget.h"

#include <stdbool.h>
#include <stdlib.h>

#include "api/pathprobe.h"
#include "api/vmi.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "handler/handler.h"
#include "handler/probecontext.h"
#include "handler/probesink.h"
#include "handler/probewire.h"
#include "handler/proxyctl.h"
#include "handler/proxyview.h"
#include "handler/targetaddress.h"

struct probetarget {
	const struct probe_context *context;
	enum pathprobe_measure measure;
	char *key;  /* of the listener */
	char *peer; /* the source node */
	json_t *answer;
	struct proxyview *view;
	struct probesink *sink;
	bool starting; /* an answer of the proxy is to come */
	bool freed;    /* and nobody waits for it */
	void (*done)(void *arg, json_t *answer);
	void *arg;
};

static void
release(struct probetarget *t)
{
	proxyview_free(t->view);
	probesink_free(t->sink);
	json_decref(t->answer);
	free(t->key);
	free(t->peer);
	free(t);
}

static void
finish(struct probetarget *t)
{
	t->done(t->arg, TAKE_PTR(t->answer));
}

static void
refuse(struct probetarget *t, const char *why)
{
	json_object_set_new(t->answer, "refusal", json_string(why));
	finish(t);
}

static void
listens(void *arg, const json_t *result, const struct err *err)
{
	struct probetarget *t = arg;
	struct err why;
	json_t *where;

	t->starting = false;
	if (t->freed) {
		probetarget_free(t);
		return;
	}
	if (err != NULL) {
		refuse(t, err->text);
		return;
	}
	where = target_address(
		result, handler_options(t->context->handler)->address, &why);
	if (where == NULL) {
		refuse(t, why.text);
		return;
	}
	json_object_set_new(t->answer, "listening", where);
	finish(t);
}

static int
listen_now(struct probetarget *t, struct err *err)
{
	AUTO(js_unref)
	json_t *params = json_pack("{s:s, s:s, s:i}", "key", t->key, "peer",
				   t->peer, "dirFd", 0);
	const struct proxyctl_start start = {
		.side = PROXY_TARGET,
		.params = params,
		.fds = &t->context->dir_fd,
		.fd_count = 1,
	};

	if (probe_check(t->context, js_obj_at(t->answer, "proxy"), err) == -1)
		return -1;
	t->sink = probesink_new(t->context->loop, t->context->dir_fd, t->key,
				err);
	if (t->sink == NULL ||
	    proxyctl_start(handler_proxy(t->context->handler), &start, listens,
			   t, err) == -1)
		return -1;
	t->starting = true;
	return 0;
}

static void
seen(void *arg, json_t *view)
{
	struct probetarget *t = arg;
	struct err why;

	json_object_set_new(t->answer, "proxy", view);
	if (t->measure == PATHPROBE_NONE)
		finish(t);
	else if (t->measure == PATHPROBE_THROUGHPUT &&
		 probe_is_busy(t->context))
		refuse(t, "a migration goes through this node, which a "
			  "measurement would slow down");
	else if (listen_now(t, &why) == -1)
		refuse(t, why.text);
}

struct probetarget *
probetarget_new(const struct probe_context *context,
		const struct pathprobe *probe,
		void (*done)(void *arg, json_t *answer), void *arg)
{
	struct probetarget *t = xmalloc0(sizeof(*t));
	const struct vmi *vmi = probe_vmi(context, probe);

	t->context = context;
	t->measure = probe->measure;
	t->key = xasprintf(PROBE_KEY_PREFIX "%s", probe->meta.uid);
	t->peer = xstrdup(probe->node[PATHPROBE_SOURCE]);
	t->done = done;
	t->arg = arg;
	t->answer = probe_answer(context);
	t->view = proxyview_new(
		context->loop, handler_options(context->handler)->proxy_control,
		vmi == NULL ? "" : vmi->meta.uid, seen, t);
	return t;
}

void
probetarget_free(struct probetarget *t)
{
	if (t == NULL)
		return;
	t->freed = true;
	if (t->starting)
		return;
	if (t->sink != NULL)
		probe_stop_listener(t->context, PROXY_TARGET, t->key);
	release(t);
}
