/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The scheduler: binds pods that have no node to one.
 *
 * A pod that waits is
 *   active   its turn comes, by priority, then by age of its entry
 *   resting  tried not long ago; becomes active when its pause is over
 *   parked   no node suits it; rests or becomes active when something changes
 *            that could help, or after PARK_MAX_MS
 *   binding  a node was chosen and the request is on its way; the pod counts
 *            for the node in the view meanwhile
 *
 * With volumes that wait for their first consumer, the volumes are chosen with
 * the node and reserved first; the pod is parked until they are bound and then
 * scheduled anew, to where they are. Nothing has to be remembered for that.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/heap.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "cluster/control/choose.h"
#include "cluster/control/context.h"
#include "cluster/control/feed.h"
#include "cluster/control/recorder.h"
#include "cluster/control/view.h"
#include "cluster/store/object.h"
#include "meta/time.h"

#define SCHEDULER_NAME "default-scheduler"
#define SCHEDULER_USER "system:kube-scheduler"
#define PAUSE_MIN_MS 1000U
#define PAUSE_MAX_MS (10U * 1000)
#define PARK_MAX_MS (5U * 60 * 1000)
#define SWEEP_US (30U * 1000 * 1000)
/* Changes of the cluster are acted upon together, after so long. */
#define WAKE_US (20U * 1000)
#define PORTION 32
#define BINDINGS_MAX 128

enum waiting_state {
	STATE_ACTIVE,
	STATE_RESTING,
	STATE_PARKED,
	STATE_BINDING,
};

/* Whom a change could help. */
enum wake {
	WAKE_TERMS = 1,  /* who looks at other pods */
	WAKE_CLAIMS = 2, /* who has volumes */
	WAKE_ALL = 4,
};

struct waiting {
	struct map_node node;
	struct heap_node place; /* in active (by rank) or resting (by time) */
	char *key;
	enum waiting_state state;
	unsigned tries;
	uint64_t tried_ms;
};

struct scheduler {
	struct context *context;
	struct api *api;
	struct events *recorder;
	struct map waiting;
	struct heap active;
	struct heap resting;
	uint32_t sequence; /* of entries */
	size_t turn;
	size_t bindings;
	unsigned wake; /* of enum wake: what has happened since */
	struct loop_timer *run_timer;
	struct loop_timer *wake_timer;
	struct loop_timer *sweep_timer;
};

/* A request about one pod. */
struct errand {
	struct scheduler *scheduler;
	char *key, *uid, *node;
};

static struct waiting *
find(const struct scheduler *s, const char *key)
{
	struct map_node *node = map_get(&s->waiting, key);

	return node == NULL ? NULL : MAP_ENTRY(node, struct waiting, node);
}

static struct events_ref
ref_of(const struct pod *pod)
{
	return (struct events_ref){ "v1", "Pod", pod->ns, pod->name, pod->uid };
}

/* When the next thing is to be done. */
static void
plan(struct scheduler *s)
{
	const struct heap_node *rested = heap_first(&s->resting);
	uint64_t now = loop_now_ms();

	if (heap_first(&s->active) != NULL && s->bindings < BINDINGS_MAX)
		loop_timer_start(s->run_timer, 0);
	else if (rested != NULL)
		loop_timer_start(
			s->run_timer,
			rested->key <= now ? 0 : (rested->key - now) * 1000);
}

static uint64_t
rank_of(struct scheduler *s, const struct pod *pod)
{
	int64_t priority = pod->priority;

	if (priority > INT32_MAX)
		priority = INT32_MAX;
	if (priority < INT32_MIN)
		priority = INT32_MIN;
	return (uint64_t)(INT32_MAX - priority) << 32 | s->sequence++;
}

static void
leave_heaps(struct scheduler *s, struct waiting *w)
{
	if (w->state == STATE_ACTIVE)
		heap_remove(&s->active, &w->place);
	else if (w->state == STATE_RESTING)
		heap_remove(&s->resting, &w->place);
}

static void
activate(struct scheduler *s, struct waiting *w)
{
	const struct pod *pod = view_pod(s->context->view, w->key);

	leave_heaps(s, w);
	w->state = STATE_ACTIVE;
	heap_set(&s->active, &w->place, rank_of(s, pod));
}

/* Active again once the pause after its last try is over. */
static void
rest(struct scheduler *s, struct waiting *w)
{
	uint64_t pause = PAUSE_MIN_MS;
	uint64_t at;

	for (unsigned i = 1; i < w->tries && pause < PAUSE_MAX_MS; i++)
		pause *= 2;
	at = w->tried_ms + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
	if (w->tries == 0 || at <= loop_now_ms()) {
		activate(s, w);
		return;
	}
	leave_heaps(s, w);
	w->state = STATE_RESTING;
	heap_set(&s->resting, &w->place, at);
}

static void
forget(struct scheduler *s, struct waiting *w)
{
	leave_heaps(s, w);
	map_remove(&s->waiting, &w->node);
	free(w->key);
	free(w);
}

/* Requests. */

static struct errand *
errand_new(struct scheduler *s, const struct pod *pod, const char *node)
{
	struct errand *e = xmalloc0(sizeof(*e));

	e->scheduler = s;
	e->key = xstrdup(pod->key);
	e->uid = xstrdup(pod->uid);
	e->node = xstrdup(node);
	return e;
}

static void
errand_free(struct errand *e)
{
	free(e->key);
	free(e->uid);
	free(e->node);
	free(e);
}

/* The pod the errand was about; NULL if it is gone or another one by now. */
static struct pod *
errand_pod(const struct errand *e)
{
	struct pod *pod = view_pod(e->scheduler->context->view, e->key);

	return pod != NULL && strcmp(pod->uid, e->uid) == 0 ? pod : NULL;
}

static void
bind_failed(struct errand *e, int code, const json_t *answer)
{
	struct scheduler *s = e->scheduler;
	struct pod *pod = errand_pod(e);
	struct waiting *w = find(s, e->key);

	if (pod != NULL)
		view_forget(s->context->view, pod);
	if (w == NULL || w->state != STATE_BINDING)
		return;
	w->state = STATE_PARKED;
	/* It is gone or was bound by somebody else: an event says so. */
	if (api_stale(code) || pod == NULL)
		return;
	log_warning(NULL, "cannot bind pod '%s' to '%s': %s", e->key, e->node,
		    js_str_at(answer, "message"));
	rest(s, w);
}

static void
on_bound(int code, const json_t *answer, void *arg)
{
	struct errand *e = arg;
	struct scheduler *s = e->scheduler;
	struct pod *pod = errand_pod(e);

	s->bindings--;
	if (!api_ok(code)) {
		bind_failed(e, code, answer);
	} else if (pod != NULL) {
		struct events_ref ref = ref_of(pod);

		events_emit(s->recorder, &ref, "Normal", "Scheduled",
			    "Successfully assigned %s to %s", e->key, e->node);
	}
	errand_free(e);
	plan(s);
}

static void
bind(struct scheduler *s, struct waiting *w, struct pod *pod, struct node *node)
{
	AUTO(free_ptr)
	char *path = xasprintf("/api/v1/namespaces/%s/pods/%s/binding", pod->ns,
			       pod->name);
	json_t *body = json_pack(
		"{s:s,s:s,s:{s:s,s:s,s:s},s:{s:s,s:s,s:s}}", "apiVersion", "v1",
		"kind", "Binding", "metadata", "name", pod->name, "namespace",
		pod->ns, "uid", pod->uid, "target", "apiVersion", "v1", "kind",
		"Node", "name", node->name);
	struct errand *e = errand_new(s, pod, node->name);

	w->state = STATE_BINDING;
	s->bindings++;
	view_assume(s->context->view, pod, node);
	api_send(s->api, &(struct api_call){ .method = "POST",
					     .path = path,
					     .body = body,
					     .done = on_bound,
					     .arg = e });
}

/* Volumes. */

/* The reservation was refused: the view goes back to what is stored. */
static void
on_reserved(int code, const json_t *answer, void *arg)
{
	struct errand *e = arg;
	struct scheduler *s = e->scheduler;
	struct store *store = s->context->config.store;
	struct waiting *w = find(s, e->key);

	(void)answer;
	if (!api_ok(code)) {
		struct object *obj = store_get(
			store_collection(store, "", "persistentvolumes"), "",
			e->node);

		if (obj != NULL) {
			AUTO(js_unref) json_t *json = object_json(obj);

			(void)view_set_volume(s->context->view, json);
		}
		if (w != NULL && w->state == STATE_PARKED) {
			w->tries++;
			rest(s, w);
		}
		plan(s);
	}
	errand_free(e);
}

static void
reserve_volume(struct scheduler *s, const struct pod *pod,
	       const struct claim *claim, const char *name)
{
	struct volume *volume = view_volume(s->context->view, name);
	AUTO(free_ptr)
	char *path = xasprintf("/api/v1/persistentvolumes/%s", name);
	json_t *body = json_pack(
		"{s:{s:s,s:{s:s}},s:{s:{s:s,s:s,s:s,s:s,s:s}}}", "metadata",
		"uid", volume->uid, "annotations",
		"pv.kubernetes.io/bound-by-controller", "yes", "spec",
		"claimRef", "apiVersion", "v1", "kind", "PersistentVolumeClaim",
		"namespace", claim->ns, "name", claim->name, "uid", claim->uid);

	/* So that nobody else is given it before the event comes. */
	view_reserve(volume, claim);
	api_send(s->api, &(struct api_call){
				 .method = "PATCH",
				 .path = path,
				 .body = body,
				 .content_type = API_MERGE,
				 .done = on_reserved,
				 .arg = errand_new(s, pod, name),
			 });
}

/* Tells whoever makes volumes for which node one is needed. */
static void
request_volume(struct scheduler *s, const struct claim *claim,
	       const struct node *node)
{
	AUTO(free_ptr)
	char *path =
		xasprintf("/api/v1/namespaces/%s/persistentvolumeclaims/%s",
			  claim->ns, claim->name);
	json_t *body =
		json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
			  "volume.kubernetes.io/selected-node", node->name);

	api_send(s->api, &(struct api_call){ .method = "PATCH",
					     .path = path,
					     .body = body,
					     .content_type = API_MERGE });
}

static void
prepare_volumes(struct scheduler *s, const struct pod *pod,
		const struct choice *choice)
{
	for (size_t i = 0; i < choice->volume_count; i++) {
		const struct choice_volume *v = &choice->volumes[i];
		const struct claim *claim =
			view_claim(s->context->view, pod->ns, v->claim);

		if (claim == NULL)
			continue;
		if (v->volume != NULL)
			reserve_volume(s, pod, claim, v->volume);
		else
			request_volume(s, claim, choice->node);
	}
}

/* Failure. */

static void
report_failure(struct scheduler *s, const struct pod *pod, const char *message)
{
	struct events_ref ref = ref_of(pod);
	AUTO(free_ptr) char *path = NULL;
	char now[TIME_TEXT_SIZE];

	events_emit(s->recorder, &ref, "Warning", "FailedScheduling", "%s",
		    message);
	if (pod->unschedulable && strcmp(pod->why, message) == 0)
		return;
	path = xasprintf("/api/v1/namespaces/%s/pods/%s/status", pod->ns,
			 pod->name);
	api_send(s->api,
		 &(struct api_call){
			 .method = "PATCH",
			 .path = path,
			 .body = json_pack(
				 "{s:{s:s},s:{s:[{s:s,s:s,s:s,s:s,s:n,s:s}]}}",
				 "metadata", "uid", pod->uid, "status",
				 "conditions", "type", "PodScheduled", "status",
				 "False", "reason", "Unschedulable", "message",
				 message, "lastProbeTime", "lastTransitionTime",
				 time_now_text(now)),
			 .content_type = API_STRATEGIC,
		 });
}

static void
try_pod(struct scheduler *s, struct waiting *w)
{
	struct pod *pod = view_pod(s->context->view, w->key);
	struct choice choice;

	w->tries++;
	w->tried_ms = loop_now_ms();
	w->state = STATE_PARKED;
	choose_node(s->context->view, pod, s->turn++, &choice);
	switch (choice.kind) {
	case CHOICE_NODE:
		if (choice.volume_count == 0) {
			bind(s, w, pod, choice.node);
			break;
		}
		/* No failure: it goes on as soon as they are bound. */
		w->tries = 0;
		prepare_volumes(s, pod, &choice);
		break;
	case CHOICE_NONE:
		report_failure(s, pod, choice.message);
		break;
	case CHOICE_WAIT:
		w->tries = 0;
		break;
	}
	choice_done(&choice);
}

static void
run(void *arg)
{
	struct scheduler *s = arg;
	struct heap_node *first;
	uint64_t now = loop_now_ms();

	while ((first = heap_first(&s->resting)) != NULL && first->key <= now)
		activate(s, MAP_ENTRY(first, struct waiting, place));
	for (int i = 0; i < PORTION && s->bindings < BINDINGS_MAX; i++) {
		first = heap_first(&s->active);
		if (first == NULL)
			break;
		heap_remove(&s->active, first);
		try_pod(s, MAP_ENTRY(first, struct waiting, place));
	}
	plan(s);
}

/* Changes. */

static bool
is_helped(const struct scheduler *s, const struct waiting *w, unsigned wake)
{
	const struct pod *pod = view_pod(s->context->view, w->key);

	return (wake & WAKE_ALL) || ((wake & WAKE_TERMS) && pod->use_count) ||
	       ((wake & WAKE_CLAIMS) && pod->claim_count);
}

static void
wake_parked(void *arg)
{
	struct scheduler *s = arg;
	struct map_node *node = NULL;
	unsigned wake = s->wake;

	s->wake = 0;
	while ((node = map_next(&s->waiting, node)) != NULL) {
		struct waiting *w = MAP_ENTRY(node, struct waiting, node);

		if (w->state == STATE_PARKED && is_helped(s, w, wake))
			rest(s, w);
	}
	plan(s);
}

static void
wake(struct scheduler *s, unsigned what)
{
	if (s->waiting.count == 0)
		return;
	s->wake |= what;
	if (!loop_timer_running(s->wake_timer))
		loop_timer_start(s->wake_timer, WAKE_US);
}

/* Whatever was missed: who was parked long ago is tried again. */
static void
sweep(void *arg)
{
	struct scheduler *s = arg;
	struct map_node *node = NULL;
	uint64_t now = loop_now_ms();

	while ((node = map_next(&s->waiting, node)) != NULL) {
		struct waiting *w = MAP_ENTRY(node, struct waiting, node);

		if (w->state == STATE_PARKED && now - w->tried_ms > PARK_MAX_MS)
			activate(s, w);
	}
	plan(s);
	loop_timer_start(s->sweep_timer, SWEEP_US);
}

static bool
is_ours(const struct pod *pod)
{
	return pod != NULL && *pod->node_name == '\0' && !pod->finished &&
	       !pod->deleting && !pod->gated &&
	       strcmp(pod->scheduler, SCHEDULER_NAME) == 0;
}

static bool
is_different(const struct pod *a, const struct pod *b)
{
	return strcmp(a->uid, b->uid) != 0 || a->gated != b->gated ||
	       a->toleration_count != b->toleration_count ||
	       !json_equal(a->labels, b->labels) ||
	       !json_equal(a->node_selector, b->node_selector) ||
	       !json_equal(a->affinity, b->affinity);
}

static void
pod_waits(struct scheduler *s, const struct feed_change *change)
{
	struct waiting *w = find(s, change->key);

	if (w == NULL) {
		w = xmalloc0(sizeof(*w));
		w->key = xstrdup(change->key);
		w->state = STATE_PARKED;
		map_put(&s->waiting, &w->node, w->key);
		activate(s, w);
	} else if (change->old_pod != NULL && w->state == STATE_PARKED &&
		   is_different(change->old_pod, change->pod)) {
		w->tries = 0;
		activate(s, w);
	}
	plan(s);
}

/* What the pods on nodes mean to those that wait. */
static void
pod_counts(struct scheduler *s, const struct feed_change *change)
{
	const struct pod *old = change->old_pod;
	const struct pod *pod = change->pod;
	bool counted = old != NULL && *old->node_name != '\0' && !old->finished;
	bool counts = pod != NULL && *pod->node_name != '\0' && !pod->finished;

	if (counted && !counts)
		wake(s, WAKE_ALL);
	else if (counts && (!counted || !json_equal(old->labels, pod->labels)))
		wake(s, WAKE_TERMS);
}

static void
on_change(const struct feed_change *change, void *arg)
{
	struct scheduler *s = arg;
	const struct node *node;
	struct waiting *w;

	switch (change->what) {
	case FEED_POD:
		w = find(s, change->key);
		if (is_ours(change->pod))
			pod_waits(s, change);
		else if (w != NULL)
			forget(s, w);
		pod_counts(s, change);
		break;
	case FEED_NODE:
		node = view_node(s->context->view, change->key);
		if (node == NULL || node->reshaped)
			wake(s, WAKE_ALL);
		break;
	case FEED_NAMESPACE:
		wake(s, WAKE_TERMS);
		break;
	case FEED_CLASS:
	case FEED_VOLUME:
	case FEED_CLAIM:
		wake(s, WAKE_CLAIMS);
		break;
	case FEED_WHAT_COUNT:
		break;
	}
}

static void *
scheduler_start(struct context *context)
{
	struct scheduler *s = xmalloc0(sizeof(*s));
	struct loop *loop = context->config.loop;

	s->context = context;
	s->api = api_new(context->config.server, SCHEDULER_USER);
	s->recorder =
		recorder_new(context->config.loop, s->api, SCHEDULER_NAME);
	s->run_timer = loop_timer_new(loop, run, s);
	s->wake_timer = loop_timer_new(loop, wake_parked, s);
	s->sweep_timer = loop_timer_new(loop, sweep, s);
	loop_timer_start(s->sweep_timer, SWEEP_US);
	feed_listen(context->feed, on_change, s);
	return s;
}

static void
scheduler_stop(void *state)
{
	struct scheduler *s = state;
	struct map_node *node = map_next(&s->waiting, NULL);

	api_close(s->api);
	while (node != NULL) {
		struct map_node *next = map_next(&s->waiting, node);

		forget(s, MAP_ENTRY(node, struct waiting, node));
		node = next;
	}
	map_done(&s->waiting);
	heap_done(&s->active);
	heap_done(&s->resting);
	loop_timer_free(s->run_timer);
	loop_timer_free(s->wake_timer);
	loop_timer_free(s->sweep_timer);
	events_free(s->recorder);
	api_free(s->api);
	free(s);
}

const struct controller scheduler_controller = {
	.name = "scheduler",
	.start = scheduler_start,
	.stop = scheduler_stop,
};
