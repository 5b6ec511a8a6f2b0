/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/prober.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/kinds.h"
#include "api/pathprobe.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "handler/handler.h"
#include "handler/probecontext.h"
#include "handler/probesource.h"
#include "handler/probetarget.h"
#include "handler/probewire.h"
#include "kube/client.h"
#include "kube/informer.h"

#define US_PER_MS 1000U
#define LOOK_MS 1000U
#define DIR_NAME "probe"
#define DIR_MODE 0700

/* A probe as it was seen. */
struct seen {
	struct pathprobe *probe; /* NULL when it cannot be understood */
	uint64_t since_ms;
};

/* What is being answered on one side. */
struct place {
	struct prober *prober;
	enum pathprobe_side side;
	char *uid; /* of the probe; NULL: the place is free */
	char *key; /* "ns/name" */
	uint64_t since_ms;
	struct probesource *source;
	struct probetarget *target;
	struct kube_call *call; /* the answer is being written */
};

struct prober {
	struct probe_context context;
	struct handler *handler;
	struct informer *informer;
	struct place places[PATHPROBE_SIDE_COUNT];
	/* Probes that this node has answered, or tried to, by side. */
	json_t *answered[PATHPROBE_SIDE_COUNT];
	struct loop_timer *timer;
	bool complained; /* about the directory */
};

static void
leave(struct place *place)
{
	kube_cancel(place->call);
	place->call = NULL;
	probesource_free(place->source);
	place->source = NULL;
	probetarget_free(place->target);
	place->target = NULL;
	free(place->uid);
	place->uid = NULL;
	free(place->key);
	place->key = NULL;
}

static void
written(const struct kube_result *result, void *arg)
{
	struct place *place = arg;

	place->call = NULL;
	if (result->status->code != 0 && !kube_is_not_found(result))
		log_warning(NULL, "cannot answer probe %s, giving up: %s",
			    place->key, result->status->message);
	/* A target listens until the source has answered. */
	if (place->side == PATHPROBE_SOURCE || result->status->code != 0)
		leave(place);
	loop_timer_start(place->prober->timer, 0);
}

static void
answer(void *arg, json_t *text)
{
	struct place *place = arg;
	struct prober *p = place->prober;
	AUTO(js_unref)
	json_t *patch = json_pack("{s:{s:o}}", "status",
				  pathprobe_side_name(place->side), text);
	char buf[KUBE_KEY_MAX];
	const char *ns, *name;
	struct kube_request request = {
		.verb = KUBE_PATCH_MERGE,
		.resource = &api_path_probes,
		.subresource = "status",
		.body = patch,
		.repeatable = true,
	};

	(void)kube_key_split(place->key, buf, &ns, &name);
	request.ns = ns;
	request.name = name;
	place->call =
		kube_send(handler_client(p->handler), &request, written, place);
}

static void
take(struct prober *p, enum pathprobe_side side,
     const struct cache_object *object, const struct pathprobe *probe)
{
	struct place *place = &p->places[side];

	place->uid = xstrdup(object->uid);
	place->key = xstrdup(object->key);
	place->since_ms = loop_now_ms();
	json_object_set_new(p->answered[side], object->uid, json_true());
	if (side == PATHPROBE_SOURCE)
		place->source =
			probesource_new(&p->context, probe, answer, place);
	else
		place->target =
			probetarget_new(&p->context, probe, answer, place);
}

static uint64_t
age_ms(const struct seen *seen)
{
	return loop_now_ms() - seen->since_ms;
}

/* A source waits for its target, but not for one that is silent. */
static bool
is_due(const struct prober *p, enum pathprobe_side side,
       const struct cache_object *object, const struct seen *seen)
{
	const struct pathprobe *probe = seen->probe;

	if (probe == NULL || objmeta_is_deleting(&probe->meta) ||
	    !str_equal(probe->node[side], p->context.node) ||
	    probe->answer[side] != NULL ||
	    probe->answer[PATHPROBE_SOURCE] != NULL ||
	    json_object_get(p->answered[side], object->uid) != NULL ||
	    age_ms(seen) > PROBER_STALE_MS)
		return false;
	return side == PATHPROBE_TARGET ||
	       probe->node[PATHPROBE_TARGET][0] == '\0' ||
	       probe->answer[PATHPROBE_TARGET] != NULL ||
	       age_ms(seen) > PROBER_TARGET_MS;
}

static void
fill(struct prober *p, enum pathprobe_side side)
{
	struct cache_walk walk = cache_all(informer_cache(p->informer));
	const struct cache_object *object;

	while (p->places[side].uid == NULL &&
	       (object = cache_walk_next(&walk)) != NULL) {
		const struct seen *seen = object->view;

		if (is_due(p, side, object, seen))
			take(p, side, object, seen->probe);
	}
}

/* Whoever asked is gone for long. */
static void
delete_stale(struct prober *p)
{
	struct cache_walk walk = cache_all(informer_cache(p->informer));
	const struct cache_object *object;

	while ((object = cache_walk_next(&walk)) != NULL) {
		const struct seen *seen = object->view;
		const struct kube_request request = {
			.verb = KUBE_DELETE,
			.resource = &api_path_probes,
			.ns = object->ns,
			.name = object->name,
		};

		if (seen->probe == NULL || age_ms(seen) < PROBER_DELETE_MS ||
		    (!str_equal(seen->probe->node[PATHPROBE_SOURCE],
				p->context.node) &&
		     !str_equal(seen->probe->node[PATHPROBE_TARGET],
				p->context.node)))
			continue;
		(void)kube_send(handler_client(p->handler), &request, NULL,
				NULL);
	}
}

static void
end_held(struct prober *p)
{
	struct place *place = &p->places[PATHPROBE_TARGET];

	if (place->uid != NULL && place->call == NULL &&
	    loop_now_ms() - place->since_ms > PROBER_HOLD_MS)
		leave(place);
}

/* Beside the control socket: nobody but root writes there. */
static int
open_dir(const struct handler_options *options, int *ret_fd, struct err *err)
{
	AUTO(free_ptr) char *dir = NULL;
	AUTO(free_ptr) char *path = NULL;
	const char *name;

	if (path_split(options->proxy_control, &dir, &name, err) == -1)
		return -1;
	path = xasprintf("%s/" DIR_NAME, dir);
	if (mkdir(path, DIR_MODE) == -1 && errno != EEXIST)
		return err_errno(err, "cannot make '%s'", path);
	return path_open_dir(path, ret_fd, err);
}

/* Without it nothing is measured, and the rest is answered. */
static void
want_dir(struct prober *p)
{
	struct err err;

	if (p->context.dir_fd != -1 || open_dir(handler_options(p->handler),
						&p->context.dir_fd, &err) == 0)
		return;
	if (!p->complained)
		log_warning(NULL, "no way is measured, trying on: %s",
			    err.text);
	p->complained = true;
}

static void
look(void *arg)
{
	struct prober *p = arg;

	loop_timer_start(p->timer, LOOK_MS * US_PER_MS);
	end_held(p);
	delete_stale(p);
	/* One whose ferry-proxy is down has that to tell. */
	if (!handler_is_settled(p->handler))
		return;
	want_dir(p);
	for (int side = 0; side < PATHPROBE_SIDE_COUNT; side++)
		fill(p, (enum pathprobe_side)side);
}

/* Views. */

static void *
decode(json_t *object, void *arg)
{
	struct seen *seen = xmalloc0(sizeof(*seen));
	struct err err;

	(void)arg;
	seen->since_ms = loop_now_ms();
	seen->probe = pathprobe_decode(object, &err);
	if (seen->probe == NULL)
		log_warning(NULL, "a probe, ignoring: %s", err.text);
	return seen;
}

static void
release(void *view, void *arg)
{
	struct seen *seen = view;

	(void)arg;
	pathprobe_free(seen->probe);
	free(seen);
}

/* Changes. */

static void
added(const struct cache_object *object, void *arg)
{
	struct prober *p = arg;

	(void)object;
	loop_timer_start(p->timer, 0);
}

static void
updated(const struct cache_object *old, const struct cache_object *object,
	void *arg)
{
	struct prober *p = arg;
	const struct seen *before = old->view;
	struct seen *seen = object->view;
	struct place *target = &p->places[PATHPROBE_TARGET];

	seen->since_ms = before->since_ms;
	if (seen->probe != NULL &&
	    seen->probe->answer[PATHPROBE_SOURCE] != NULL &&
	    str_equal(target->uid, object->uid))
		leave(target);
	loop_timer_start(p->timer, 0);
}

static void
deleted(const struct cache_object *object, void *arg)
{
	struct prober *p = arg;

	for (int side = 0; side < PATHPROBE_SIDE_COUNT; side++) {
		(void)json_object_del(p->answered[side], object->uid);
		if (str_equal(p->places[side].uid, object->uid))
			leave(&p->places[side]);
	}
	loop_timer_start(p->timer, 0);
}

static struct informer *
follow(struct prober *p)
{
	const struct informer_config config = {
		.client = handler_client(p->handler),
		.resource = api_path_probes,
		.cache = { .decode = decode, .release = release },
	};
	const struct informer_handler handler = {
		.added = added,
		.updated = updated,
		.deleted = deleted,
		.arg = p,
	};
	struct informer *informer = informer_new(&config);

	informer_add_handler(informer, &handler);
	informer_start(informer);
	return informer;
}

struct prober *
prober_new(struct handler *handler)
{
	struct prober *p = xmalloc0(sizeof(*p));
	const struct handler_options *options = handler_options(handler);

	p->handler = handler;
	p->context = (struct probe_context){ .loop = options->loop,
					     .handler = handler,
					     .node = options->node,
					     .dir_fd = -1 };
	for (int side = 0; side < PATHPROBE_SIDE_COUNT; side++) {
		p->answered[side] = json_object();
		p->places[side] =
			(struct place){ .prober = p,
					.side = (enum pathprobe_side)side };
	}
	p->timer = loop_timer_new(options->loop, look, p);
	loop_timer_start(p->timer, LOOK_MS * US_PER_MS);
	p->informer = follow(p);
	return p;
}

void
prober_free(struct prober *p)
{
	if (p == NULL)
		return;
	informer_free(p->informer);
	for (int side = 0; side < PATHPROBE_SIDE_COUNT; side++) {
		leave(&p->places[side]);
		json_decref(p->answered[side]);
	}
	loop_timer_free(p->timer);
	close_fd(&p->context.dir_fd);
	free(p);
}

bool
prober_knows(const struct prober *p, const char *key)
{
	if (!str_has_prefix(key, PROBE_KEY_PREFIX))
		return false;
	for (int side = 0; side < PATHPROBE_SIDE_COUNT; side++) {
		if (str_equal(p->places[side].uid,
			      key + sizeof(PROBE_KEY_PREFIX) - 1))
			return true;
	}
	return false;
}
