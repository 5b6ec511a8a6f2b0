/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/probesource.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/migration.h"
#include "api/pathprobe.h"
#include "api/pod.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "handler/handler.h"
#include "handler/launchlink.h"
#include "handler/portprobe.h"
#include "handler/probecontext.h"
#include "handler/probesend.h"
#include "handler/probewire.h"
#include "handler/proxyctl.h"
#include "handler/proxyview.h"
#include "handler/sockets.h"
#include "kube/resource.h"
#include "meta/time.h"

#define US_PER_MS 1000U
#define US_PER_S 1000000.0

struct probesource {
	const struct probe_context *context;
	enum pathprobe_measure measure;
	bool guest;
	char *key;    /* of the listener */
	char *target; /* node; "" for none */
	/* What the target has answered; NULL: nothing. */
	json_t *target_answer;
	/* Of the machine, and "" where there is none here. */
	char *vmi_uid, *pod_uid;
	char *address; /* where its migration goes */
	json_t *ports; /* there; NULL: it does not move */

	size_t step;
	json_t *answer;
	struct proxyview *view;
	struct portprobe *portprobe;
	struct launchlink *link;
	bool sampling; /* the launcher is to be asked, or is */
	bool measuring;
	struct probesend *send;
	bool listening; /* the proxy has been told to */
	bool asked;     /* an answer of proxyctl is to come */
	bool freed;     /* and nobody waits for it */
	struct loop_timer *deadline, *again;
	void (*done)(void *arg, json_t *answer);
	void *arg;
};

static void next(struct probesource *s);

/* Nobody calls any more but proxyctl. */
static void
quieten(struct probesource *s)
{
	proxyview_free(s->view);
	s->view = NULL;
	portprobe_free(s->portprobe);
	s->portprobe = NULL;
	launchlink_free(s->link);
	s->link = NULL;
	probesend_free(s->send);
	s->send = NULL;
	loop_timer_stop(s->deadline);
	loop_timer_stop(s->again);
}

static void
release(struct probesource *s)
{
	loop_timer_free(s->deadline);
	loop_timer_free(s->again);
	json_decref(s->target_answer);
	json_decref(s->ports);
	json_decref(s->answer);
	free(s->key);
	free(s->target);
	free(s->vmi_uid);
	free(s->pod_uid);
	free(s->address);
	free(s);
}

static void
finish(struct probesource *s)
{
	char now[TIME_TEXT_SIZE];

	loop_timer_stop(s->deadline);
	loop_timer_stop(s->again);
	s->sampling = false;
	json_object_set_new(s->answer, "finished",
			    json_string(time_now_text(now)));
	s->done(s->arg, TAKE_PTR(s->answer));
}

static void
say_failed(struct probesource *s, const char *member, const char *reason,
	   const char *message)
{
	json_object_set_new(
		s->answer, member,
		json_pack("{s:s, s:s}", "reason", reason, "message", message));
}

/* Whatever has not been found out by now. */
static void
too_late(void *arg)
{
	struct probesource *s = arg;
	static const char *const members[] = { "guest", "path" };
	const bool wanted[] = { s->guest, s->measure != PATHPROBE_NONE };

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (wanted[i] && js_at(s->answer, members[i]) == NULL)
			say_failed(s, members[i], "Timeout",
				   "there was no answer in time");
	}
	finish(s);
}

/* The proxy. */

static void
seen(void *arg, json_t *view)
{
	struct probesource *s = arg;

	json_object_set_new(s->answer, "proxy", view);
	next(s);
}

static void
look_at_proxy(struct probesource *s)
{
	s->view = proxyview_new(
		s->context->loop,
		handler_options(s->context->handler)->proxy_control, s->vmi_uid,
		seen, s);
}

/* The sockets that the proxy's listener says it has made. */

static void
look_at_sockets(struct probesource *s)
{
	const json_t *listener =
		json_array_get(js_arr_at(s->answer, "proxy.source"), 0);
	AUTO(close_fd) int dir = -1;
	json_t *sockets = json_object();
	const char *channel;
	struct err ignored;
	json_t *name;

	json_object_set_new(s->answer, "sockets", sockets);
	if (s->link != NULL && listener != NULL)
		(void)launchlink_open_dir(s->link, LAUNCHLINK_PUBLIC,
					  SOCKETS_DIR, &dir, &ignored);
	json_object_foreach(js_obj_at(listener, "sockets"), channel, name)
	{
		struct stat st;

		json_object_set_new(
			sockets, json_string_value(name),
			json_boolean(dir != -1 &&
				     fstatat(dir, json_string_value(name), &st,
					     AT_SYMLINK_NOFOLLOW) == 0 &&
				     S_ISSOCK(st.st_mode)));
	}
	next(s);
}

/* The ports of a migration that goes on. */

static void
tried(void *arg, json_t *results)
{
	struct probesource *s = arg;

	json_object_set_new(s->answer, "ports", results);
	next(s);
}

static void
try_ports(struct probesource *s)
{
	if (s->ports == NULL)
		next(s);
	else
		s->portprobe = portprobe_new(s->context->loop, s->address,
					     s->ports, tried, s);
}

/* The guest. */

static json_t *
versions_json(const struct launch_status *status)
{
	return json_pack("{s:s, s:s, s:s}", "version", status->version,
			 "libvirt", status->libvirt, "qemu", status->qemu);
}

static void
measured(void *arg, const struct launch_status *status, const struct err *err)
{
	struct probesource *s = arg;

	s->measuring = false;
	if (!s->sampling)
		return;
	s->sampling = false;
	if (err != NULL)
		say_failed(s, "guest", "Failed", err->text);
	else if (status->guest == NULL)
		say_failed(s, "guest", "Failed",
			   "the launcher has measured nothing");
	else
		json_object_set_new(s->answer, "guest",
				    launch_guest_encode(status->guest));
	next(s);
}

/* From within anything: goes on from the loop. */
static void
end_sample(struct probesource *s, const char *reason, const char *why)
{
	s->sampling = false;
	say_failed(s, "guest", reason, why);
	loop_timer_start(s->again, 0);
}

static void
link_changed(void *arg)
{
	struct probesource *s = arg;
	const struct launch_status *status = launchlink_status(s->link);
	struct err err;

	if (!s->sampling || s->measuring)
		return;
	if (launchlink_state(s->link) == LINK_REFUSED) {
		end_sample(s, "Refused", launchlink_text(s->link));
		return;
	}
	if (status == NULL)
		return;
	json_object_set_new(s->answer, "launcher", versions_json(status));
	if (launchlink_call(s->link, LAUNCH_MEASURE, NULL, measured, s, &err) ==
	    -1)
		end_sample(s, "Failed", err.text);
	else
		s->measuring = true;
}

static void
sample_guest(struct probesource *s)
{
	if (!s->guest) {
		next(s);
	} else if (s->link == NULL) {
		say_failed(s, "guest", "NotHere",
			   "the machine does not run on this node");
		next(s);
	} else {
		s->sampling = true;
		link_changed(s);
	}
}

/* The way. */

static void
end_path(struct probesource *s)
{
	if (s->listening)
		probe_stop_listener(s->context, PROXY_SOURCE, s->key);
	s->listening = false;
	next(s);
}

static bool
is_wanted(struct probesource *s)
{
	s->asked = false;
	if (s->freed) {
		probesource_free(s);
		return false;
	}
	return s->answer != NULL;
}

/* ferry-proxy knows better why it did not go through. */
static void
blamed(void *arg, const json_t *result, const struct err *err)
{
	struct probesource *s = arg;

	(void)err;
	if (!is_wanted(s))
		return;
	if (result != NULL)
		say_failed(s, "path", js_str_at(result, "reason"),
			   js_str_at(result, "message"));
	end_path(s);
}

static void
fail_path(struct probesource *s, const char *why)
{
	struct err err;

	say_failed(s, "path", "Failed", why);
	if (proxyctl_blame(handler_proxy(s->context->handler), PROXY_SOURCE,
			   s->key, blamed, s, &err) == 0)
		s->asked = true;
	else
		end_path(s);
}

static void
sent(void *arg, const struct probesend_result *result, const struct err *err)
{
	struct probesource *s = arg;
	json_t *path;

	if (err != NULL) {
		fail_path(s, err->text);
		return;
	}
	path = json_pack("{s:s, s:I, s:I}", "address",
			 js_str_at(s->target_answer, "listening.address"),
			 "handshakeUs", (json_int_t)result->handshake_us,
			 "roundTripUs", (json_int_t)result->round_trip_us);
	if (result->bytes > 0 && result->duration_us > 0) {
		double seconds = (double)result->duration_us / US_PER_S;

		json_object_set_new(path, "bytes",
				    json_integer((json_int_t)result->bytes));
		json_object_set_new(
			path, "durationUs",
			json_integer((json_int_t)result->duration_us));
		json_object_set_new(
			path, "bytesPerSecond",
			json_integer(
				(json_int_t)((double)result->bytes / seconds)));
	}
	json_object_set_new(s->answer, "path", path);
	end_path(s);
}

static void
listens(void *arg, const json_t *result, const struct err *err)
{
	struct probesource *s = arg;
	const struct probesend_config config = {
		.loop = s->context->loop,
		.dir_fd = s->context->dir_fd,
		.key = s->key,
		.bulk = s->measure == PATHPROBE_THROUGHPUT,
		.done = sent,
		.arg = s,
	};
	struct err why;

	(void)result;
	s->listening = err == NULL;
	if (!is_wanted(s))
		return;
	if (err != NULL) {
		say_failed(s, "path", "Failed", err->text);
		end_path(s);
		return;
	}
	s->send = probesend_new(&config, &why);
	if (s->send == NULL)
		fail_path(s, why.text);
}

/* What the target says is checked by the proxy, and so is who it is. */
static int
listen_now(struct probesource *s, struct err *err)
{
	AUTO(js_unref)
	json_t *params = json_pack(
		"{s:s, s:s, s:i, s:s, s:O}", "key", s->key, "peer", s->target,
		"dirFd", 0, "address",
		js_str_at(s->target_answer, "listening.address"), "ports",
		js_obj_at(s->target_answer, "listening.ports"));
	const struct proxyctl_start start = {
		.side = PROXY_SOURCE,
		.params = params,
		.fds = &s->context->dir_fd,
		.fd_count = 1,
	};

	if (probe_check(s->context, js_obj_at(s->answer, "proxy"), err) == -1 ||
	    proxyctl_start(handler_proxy(s->context->handler), &start, listens,
			   s, err) == -1)
		return -1;
	s->asked = true;
	return 0;
}

static void
measure_path(struct probesource *s)
{
	const char *refusal = js_str_at(s->target_answer, "refusal");
	struct err err;

	if (s->measure == PATHPROBE_NONE || s->target[0] == '\0') {
		next(s);
		return;
	}
	if (s->target_answer == NULL)
		say_failed(s, "path", "TargetSilent",
			   "the agent of the target node does not answer");
	else if (js_obj_at(s->target_answer, "listening.ports") == NULL)
		say_failed(s, "path", "TargetRefused", refusal);
	else if (s->measure == PATHPROBE_THROUGHPUT &&
		 probe_is_busy(s->context))
		say_failed(s, "path", "Busy",
			   "a migration goes through this node, which a "
			   "measurement would slow down");
	else if (listen_now(s, &err) == -1)
		say_failed(s, "path", "Failed", err.text);
	if (!s->asked)
		next(s);
}

static void
next(struct probesource *s)
{
	static void (*const steps[])(struct probesource *) = {
		look_at_proxy, look_at_sockets, try_ports,
		sample_guest,  measure_path,    finish,
	};

	steps[s->step++](s);
}

static void
go_on(void *arg)
{
	next(arg);
}

static void
know_machine(struct probesource *s, const struct pathprobe *probe)
{
	const struct vmi *vmi = probe_vmi(s->context, probe);
	const struct migration_state *state =
		vmi == NULL ? NULL : vmi->migration;
	const struct pod *pod;
	char key[KUBE_KEY_MAX];

	s->vmi_uid = xstrdup(vmi == NULL ? "" : vmi->meta.uid);
	s->pod_uid = xstrdup("");
	s->address = xstrdup("");
	if (vmi == NULL)
		return;
	pod = handler_pod(s->context->handler,
			  kube_key(probe->meta.ns, probe->vmi_name, key),
			  s->vmi_uid, "");
	if (pod != NULL && !pod_is_down(pod)) {
		free(s->pod_uid);
		s->pod_uid = xstrdup(pod->meta.uid);
	}
	if (state == NULL || state->completed || state->failed ||
	    state->port_count == 0 || !str_equal(state->target_node, s->target))
		return;
	free(s->address);
	s->address = xstrdup(state->target_address);
	s->ports = json_object();
	for (size_t i = 0; i < state->port_count; i++) {
		AUTO(free_ptr)
		char *port = xasprintf("%u", (unsigned)state->ports[i].port);

		json_object_set_new(s->ports, port,
				    json_integer(state->ports[i].channel));
	}
}

struct probesource *
probesource_new(const struct probe_context *context,
		const struct pathprobe *probe,
		void (*done)(void *arg, json_t *answer), void *arg)
{
	struct probesource *s = xmalloc0(sizeof(*s));

	s->context = context;
	s->measure = probe->measure;
	s->guest = probe->guest;
	s->key = xasprintf(PROBE_KEY_PREFIX "%s", probe->meta.uid);
	s->target = xstrdup(probe->node[PATHPROBE_TARGET]);
	s->target_answer = json_incref(probe->answer[PATHPROBE_TARGET]);
	s->done = done;
	s->arg = arg;
	s->answer = probe_answer(context);
	s->deadline = loop_timer_new(context->loop, too_late, s);
	s->again = loop_timer_new(context->loop, go_on, s);
	know_machine(s, probe);
	if (s->pod_uid[0] != '\0') {
		const struct launchlink_config link = {
			.loop = context->loop,
			.kubelet_root =
				handler_options(context->handler)->kubelet_root,
			.pod_uid = s->pod_uid,
			.vmi_uid = s->vmi_uid,
			.changed = link_changed,
			.arg = s,
		};

		s->link = launchlink_new(&link);
	}
	loop_timer_start(s->deadline, PROBESOURCE_MS * US_PER_MS);
	loop_timer_start(s->again, 0);
	return s;
}

void
probesource_free(struct probesource *s)
{
	if (s == NULL)
		return;
	s->freed = true;
	quieten(s);
	if (s->asked)
		return;
	if (s->listening)
		probe_stop_listener(s->context, PROXY_SOURCE, s->key);
	release(s);
}
