/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/launchlink.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bucket.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "handler/peer.h"
#include "rpc/endpoint.h"
#include "version.h"

#define SOCKET_NAME "launcher-sock"
#define US_PER_MS 1000U

struct launchlink {
	struct launchlink_config config;
	char *pod_uid, *vmi_uid;
	struct loop_timer *timer;
	struct loop_timer *news_timer; /* runs while news are held back */
	bool has_news;
	struct bucket news;
	uint64_t since_ms; /* of the connection */
	struct launch_client *client;
	struct network_pod pod;
	struct ucred peer;
	struct launch_versions versions;
	enum launchlink_state state;
	unsigned tries;
	char text[256];
	bool has_status;
	struct launch_status status;
	/* The call that has no answer yet. */
	launch_answer_fn fn;
	void *arg;
};

static void
set_state(struct launchlink *link, enum launchlink_state state,
	  const char *text)
{
	bool same = link->state == state && str_equal(link->text, text);

	link->state = state;
	(void)snprintf(link->text, sizeof(link->text), "%s", text);
	if (!same)
		link->config.changed(link->config.arg);
}

/* The call that waits is answered, once. */
static void
answer(struct launchlink *link, const struct launch_status *status,
       const struct err *err)
{
	launch_answer_fn fn = link->fn;

	link->fn = NULL;
	if (fn != NULL)
		fn(link->arg, status, err);
}

static void
disconnect(struct launchlink *link)
{
	launch_client_free(link->client);
	link->client = NULL;
	network_pod_close(&link->pod);
	if (link->has_status)
		launch_status_done(&link->status);
	link->has_status = false;
	launch_versions_done(&link->versions);
}

static void
try_later(struct launchlink *link)
{
	unsigned pause_ms = link->tries++ < LAUNCHLINK_EAGER_TRIES
				    ? LAUNCHLINK_EAGER_MS
				    : LAUNCHLINK_RETRY_MS;

	loop_timer_start(link->timer, pause_ms * US_PER_MS);
}

static void
set_text(char **text, const char *value)
{
	free(*text);
	*text = xstrdup(value);
}

/* The status is the launcher's own; a copy of it is kept. What its libvirtd is
 * the launcher knows only when that runs. */
static void
keep_status(struct launchlink *link, const struct launch_status *status)
{
	launch_status_copy(&link->status, status);
	link->has_status = true;
	set_text(&link->versions.libvirt, status->libvirt);
	set_text(&link->versions.qemu, status->qemu);
}

/* A look at a machine costs, and its launcher is the pod's. */
static void
tell_news(void *arg)
{
	struct launchlink *link = arg;
	uint64_t wait_us;

	if (bucket_take(&link->news, loop_now_ns(), &wait_us)) {
		link->has_news = false;
		link->config.changed(link->config.arg);
		return;
	}
	if (!link->has_news)
		loop_timer_start(link->news_timer, wait_us);
	link->has_news = true;
}

static void
tell_late(void *arg)
{
	struct launchlink *link = arg;

	link->has_news = false;
	tell_news(link);
}

/* Not who it should be. Perhaps another one comes to listen there. */
static void
turn_away(struct launchlink *link)
{
	struct err err;

	(void)err_set(&err, ERR_DENIED,
		      "the launcher is that of another machine");
	disconnect(link);
	try_later(link);
	/* First: whoever hears the answer may look at the link. */
	set_state(link, LINK_WAITING, err.text);
	answer(link, NULL, &err);
}

static void
on_status(void *ctx, const struct launch_status *status)
{
	struct launchlink *link = ctx;

	if (!str_equal(status->vmi_uid, link->vmi_uid)) {
		turn_away(link);
		return;
	}
	keep_status(link, status);
	if (link->state != LINK_READY)
		log_info(NULL, "the launcher of pod %s answers", link->pod_uid);
	link->state = LINK_READY;
	link->text[0] = '\0';
	tell_news(link);
}

static void
first_status(void *arg, const struct launch_status *status,
	     const struct err *err)
{
	if (err == NULL)
		on_status(arg, status);
}

static void
on_ready(void *ctx, const struct launch_versions *launcher)
{
	struct launchlink *link = ctx;
	struct err err;

	launch_versions_done(&link->versions);
	link->versions = (struct launch_versions){
		.protocol_min = launcher->protocol_min,
		.protocol_max = launcher->protocol_max,
		.program = xstrdup(launcher->program),
		.version = xstrdup(launcher->version),
		.libvirt = xstrdup(launcher->libvirt),
		.qemu = xstrdup(launcher->qemu),
	};
	if (launch_client_call(link->client, LAUNCH_STATUS, NULL, first_status,
			       link, &err) == -1)
		log_debug(NULL, "cannot ask a launcher, ignoring: %s",
			  err.text);
}

static void
on_ended(void *ctx, const struct err *err)
{
	struct launchlink *link = ctx;
	enum launchlink_state state =
		err->kind == ERR_REFUSED ? LINK_REFUSED : LINK_WAITING;
	char text[sizeof(link->text)];

	(void)snprintf(text, sizeof(text), "%s", err->text);
	if (loop_now_ms() - link->since_ms >= LAUNCHLINK_LASTING_MS)
		link->tries = 0;
	disconnect(link);
	/* A launcher that speaks another protocol will not learn ours, but
	 * another handler may come with an update. */
	if (state == LINK_WAITING)
		try_later(link);
	set_state(link, state, text);
}

static int
open_volume(const struct launchlink *link, const char *volume, const char *name,
	    int *ret_fd, struct err *err)
{
	AUTO(close_fd) int root = -1;
	AUTO(free_ptr)
	char *path = xasprintf("pods/%s/volumes/kubernetes.io~empty-dir/%s%s%s",
			       link->pod_uid, volume, name != NULL ? "/" : "",
			       name != NULL ? name : "");

	if (path_open_dir(link->config.kubelet_root, &root, err) == -1)
		return -1;
	return path_open_at(root, path, O_PATH | O_DIRECTORY, 0, ret_fd, err);
}

int
launchlink_open_dir(const struct launchlink *link, const char *volume,
		    const char *name, int *ret_fd, struct err *err)
{
	return open_volume(link, volume, name, ret_fd, err);
}

/* Whoever listens there has to be in the pod, or it is nobody to talk to. */
static int
connect_launcher(struct launchlink *link, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int dir = -1, fd = -1;

	if (open_volume(link, LAUNCHLINK_SOCKETS, NULL, &dir, err) == -1 ||
	    endpoint_connect(dir, SOCKET_NAME, &fd, err) == -1)
		return -1;
	if (peer_open(fd, link->pod_uid, &link->peer, &link->pod, err) == -1)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static void
try_connect(void *arg)
{
	struct launchlink *link = arg;
	struct launch_client_config config = {
		.loop = link->config.loop,
		.program = "ferry-handler",
		.version = FERRY_VERSION,
		.ready = on_ready,
		.status = on_status,
		.ended = on_ended,
		.ctx = link,
	};
	struct err err;
	int fd = -1;

	if (connect_launcher(link, &fd, &err) == 0) {
		link->since_ms = loop_now_ms();
		link->client = launch_client_new(&config, fd);
		return;
	}
	try_later(link);
	set_state(link, LINK_WAITING, err.text);
}

struct launchlink *
launchlink_new(const struct launchlink_config *config)
{
	struct launchlink *link = xmalloc0(sizeof(*link));

	link->config = *config;
	link->pod_uid = xstrdup(config->pod_uid);
	link->vmi_uid = xstrdup(config->vmi_uid);
	link->state = LINK_WAITING;
	link->pod = NETWORK_POD_INIT;
	bucket_init(&link->news, LAUNCHLINK_NEWS_PER_S, LAUNCHLINK_NEWS_BURST,
		    loop_now_ns());
	link->news_timer = loop_timer_new(config->loop, tell_late, link);
	link->timer = loop_timer_new(config->loop, try_connect, link);
	loop_timer_start(link->timer, 0);
	return link;
}

void
launchlink_free(struct launchlink *link)
{
	if (link == NULL)
		return;
	disconnect(link);
	loop_timer_free(link->timer);
	loop_timer_free(link->news_timer);
	free(link->pod_uid);
	free(link->vmi_uid);
	free(link);
}

enum launchlink_state
launchlink_state(const struct launchlink *link)
{
	return link->state;
}

const char *
launchlink_text(const struct launchlink *link)
{
	return link->text;
}

const struct launch_status *
launchlink_status(const struct launchlink *link)
{
	return link->state == LINK_READY && link->has_status ? &link->status
							     : NULL;
}

const struct launch_versions *
launchlink_versions(const struct launchlink *link)
{
	return launchlink_status(link) == NULL ? NULL : &link->versions;
}

const struct network_pod *
launchlink_pod(const struct launchlink *link)
{
	return &link->pod;
}

uid_t
launchlink_uid(const struct launchlink *link)
{
	return link->peer.uid;
}

gid_t
launchlink_gid(const struct launchlink *link)
{
	return link->peer.gid;
}

static void
answered(void *arg, const struct launch_status *status, const struct err *err)
{
	struct launchlink *link = arg;

	if (status != NULL)
		keep_status(link, status);
	answer(link, status, err);
}

int
launchlink_call(struct launchlink *link, enum launch_method method,
		json_t *params, launch_answer_fn fn, void *arg, struct err *err)
{
	assert(link->fn == NULL);
	if (link->client == NULL || link->state != LINK_READY)
		return err_set(err, ERR_UNAVAILABLE,
			       "the launcher does not answer");
	if (launch_client_call(link->client, method, params, answered, link,
			       err) == -1)
		return -1;
	link->fn = fn;
	link->arg = arg;
	return 0;
}
