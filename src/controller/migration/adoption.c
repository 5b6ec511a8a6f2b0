/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/adoption.h"

#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/migration/slots.h"
#include "controller/world.h"
#include "kube/client.h"
#include "kube/lister.h"

#define RETRY_US (1000UL * 1000)

/* A migration that has not ended. */
struct found {
	struct map_node in_found;
	char *uid;
	char *ns, *vmi_name;
	bool running; /* by its phase, or because it has a pod */
	/* Of its hand-off, or the source alone; NULL: not known. */
	char *source, *target;
	struct adoption *of;
	struct kube_call *call; /* asks for its machine */
};

struct adoption {
	struct world *world;
	struct slots *slots;
	void (*done)(void *arg);
	void *arg;
	struct lister *lister;
	struct loop_timer *retry;
	struct map found; /* by uid */
	size_t asked;     /* machines that have not been answered for */
	bool failed;      /* one of them cannot be read */
};

static void list_migrations(void *arg);

static void
forget(void *arg)
{
	struct adoption *a = arg;
	struct map_node *node;

	while ((node = map_next(&a->found, NULL)) != NULL) {
		struct found *found = MAP_ENTRY(node, struct found, in_found);

		map_remove(&a->found, node);
		kube_cancel(found->call);
		free(found->uid);
		free(found->ns);
		free(found->vmi_name);
		free(found->source);
		free(found->target);
		free(found);
	}
	a->asked = 0;
	a->failed = false;
}

void
adoption_free(struct adoption *a)
{
	if (a == NULL)
		return;
	lister_cancel(a->lister);
	loop_timer_free(a->retry);
	forget(a);
	map_done(&a->found);
	free(a);
}

static void
take_migration(json_t *object, void *arg)
{
	struct adoption *a = arg;
	struct err err;
	struct vmim *vmim = vmim_decode(object, &err);
	struct found *found;

	if (vmim == NULL)
		return;
	if (!vmim_is_final(vmim)) {
		found = xmalloc0(sizeof(*found));
		found->uid = xstrdup(vmim->meta.uid);
		found->ns = xstrdup(vmim->meta.ns);
		found->vmi_name = xstrdup(vmim->vmi_name);
		found->running = migration_phase_is_running(vmim->phase);
		found->of = a;
		map_put(&a->found, &found->in_found, found->uid);
	}
	vmim_free(vmim);
}

static void
take_pod(json_t *object, void *arg)
{
	struct adoption *a = arg;
	struct err err;
	struct pod *pod = pod_decode(object, &err);
	struct map_node *node;

	if (pod == NULL)
		return;
	node = map_get(&a->found, pod->migration_uid);
	if (node != NULL)
		MAP_ENTRY(node, struct found, in_found)->running = true;
	pod_free(pod);
}

static void
take_machine(json_t *object, void *arg)
{
	struct adoption *a = arg;
	struct err err;
	struct vmi *vmi = vmi_decode(object, &err);
	const struct migration_state *state =
		vmi == NULL ? NULL : vmi->migration;
	struct map_node *node =
		state == NULL ? NULL : map_get(&a->found, state->uid);

	if (node != NULL) {
		struct found *found = MAP_ENTRY(node, struct found, in_found);

		free(found->source);
		free(found->target);
		found->source = xstrdup(state->source_node);
		found->target = xstrdup(state->target_node);
	}
	vmi_free(vmi);
}

static const char *
text_of(const char *text)
{
	return text == NULL ? "" : text;
}

static void
adopt_all(struct adoption *a)
{
	void (*done)(void *arg) = a->done;
	void *done_arg = a->arg;

	for (struct map_node *node = map_next(&a->found, NULL); node != NULL;
	     node = map_next(&a->found, node)) {
		const struct found *found =
			MAP_ENTRY(node, struct found, in_found);

		if (found->running)
			slots_adopt(a->slots, found->uid,
				    text_of(found->source),
				    text_of(found->target));
	}
	log_info(NULL, "%zu migrations go on", slots_used(a->slots));
	adoption_free(a);
	done(done_arg);
}

/* It may have been handed off since. */
static void
take_source(struct found *found, json_t *object)
{
	struct err err;
	struct vmi *vmi;

	take_machine(object, found->of);
	if (found->source != NULL)
		return;
	vmi = vmi_decode(object, &err);
	found->source = xstrdup(vmi == NULL ? "" : vmi->node);
	vmi_free(vmi);
}

static void
on_machine(const struct kube_result *result, void *arg)
{
	struct found *found = arg;
	struct adoption *a = found->of;

	found->call = NULL;
	a->asked--;
	if (result->answer != NULL && result->status->code == 0) {
		take_source(found, result->answer);
	} else if (!kube_is_not_found(result)) {
		log_warning(NULL, "cannot read machine '%s', trying again: %s",
			    found->vmi_name, result->status->message);
		a->failed = true;
	}
	if (a->asked != 0)
		return;
	if (a->failed)
		loop_timer_start(a->retry, RETRY_US);
	else
		adopt_all(a);
}

static void
ask_for_machine(struct adoption *a, struct found *found)
{
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vmis,
		.ns = found->ns,
		.name = found->vmi_name,
	};

	a->asked++;
	found->call =
		kube_send(world_client(a->world), &request, on_machine, found);
}

static void
begin_nothing(void *arg)
{
	(void)arg;
}

static void
on_machines(const struct status *status, const char *version, void *arg)
{
	struct adoption *a = arg;

	a->lister = NULL;
	if (version == NULL) {
		log_warning(NULL, "cannot list machines, trying again: %s",
			    status->message);
		loop_timer_start(a->retry, RETRY_US);
		return;
	}
	for (struct map_node *node = map_next(&a->found, NULL); node != NULL;
	     node = map_next(&a->found, node)) {
		struct found *found = MAP_ENTRY(node, struct found, in_found);

		if (found->running && found->source == NULL)
			ask_for_machine(a, found);
	}
	if (a->asked == 0)
		adopt_all(a);
}

/* Who is on its way has this label; to ask for all machines would be a lot. The
 * others that count have a pod and wait for it: they are few, and are asked for
 * one by one. A cache may be behind, and a node would get more than it may. */
static void
on_pods(const struct status *status, const char *version, void *arg)
{
	struct adoption *a = arg;
	const struct lister_request request = {
		.client = world_client(a->world),
		.resource = &api_vmis,
		.label_selector = LABEL_MIGRATION_TARGET_NODE,
		.begin = begin_nothing,
		.item = take_machine,
		.done = on_machines,
		.arg = a,
	};

	a->lister = NULL;
	if (version == NULL) {
		log_warning(NULL, "cannot list target pods, trying again: %s",
			    status->message);
		loop_timer_start(a->retry, RETRY_US);
		return;
	}
	a->lister = lister_start(&request);
}

static void
on_migrations(const struct status *status, const char *version, void *arg)
{
	struct adoption *a = arg;
	const struct lister_request request = {
		.client = world_client(a->world),
		.resource = &kube_pods,
		.label_selector = LABEL_MIGRATION_UID,
		.begin = begin_nothing,
		.item = take_pod,
		.done = on_pods,
		.arg = a,
	};

	a->lister = NULL;
	if (version == NULL) {
		log_warning(NULL, "cannot list migrations, trying again: %s",
			    status->message);
		loop_timer_start(a->retry, RETRY_US);
		return;
	}
	a->lister = lister_start(&request);
}

static void
list_migrations(void *arg)
{
	struct adoption *a = arg;
	const struct lister_request request = {
		.client = world_client(a->world),
		.resource = &api_vmims,
		.begin = forget,
		.item = take_migration,
		.done = on_migrations,
		.arg = a,
	};

	a->lister = lister_start(&request);
}

struct adoption *
adoption_start(struct world *world, struct slots *slots,
	       void (*done)(void *arg), void *arg)
{
	struct adoption *a = xmalloc0(sizeof(*a));

	a->world = world;
	a->slots = slots;
	a->done = done;
	a->arg = arg;
	a->retry = loop_timer_new(world_loop(world), list_migrations, a);
	list_migrations(a);
	return a;
}
