/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/admission.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission_internal.h"
#include "cluster/admit/hook.h"
#include "cluster/admit/hookcall.h"
#include "cluster/admit/lifecycle.h"
#include "cluster/admit/plugins.h"
#include "cluster/admit/quota.h"
#include "cluster/admit/review.h"
#include "cluster/kinds/kind.h"
#include "cluster/store/follow.h"
#include "meta/status.h"

/* As long as Kubernetes waits: ten times 100 to 200 ms. */
#define ACCOUNT_WAIT_US 1500000
/* Texts of webhooks for one request; further ones are dropped. */
#define WARNINGS_MAX 64

void
run_init(struct run *run, const struct run *from)
{
	run->adm = from->adm;
	run->req = from->req;
	run->done = from->done;
	run->arg = from->arg;
	run->prev = NULL;
	run->next = run->adm->runs;
	if (run->next != NULL)
		run->next->prev = run;
	run->adm->runs = run;
}

/* Takes it from the list and releases it; what is left is its copy. */
static struct run
run_leave(struct run *run)
{
	const struct run last = *run;

	if (last.prev != NULL)
		last.prev->next = last.next;
	else
		last.adm->runs = last.next;
	if (last.next != NULL)
		last.next->prev = last.prev;
	run->release(run);
	return last;
}

void
run_end(struct run *run, int result, struct status *st)
{
	const struct run last = run_leave(run);

	last.done(result, st, last.arg);
	status_done(st);
}

/* Or a broken webhook could keep its own configuration from being mended. */
bool
run_is_exempt(const struct run *run)
{
	return str_equal(run->req->kind->group, "admissionregistration.k8s.io");
}

struct hookcall *
run_ask(struct run *run, const struct hook *hook,
	const struct kind_version *version,
	void (*done)(struct hookcall *call, struct review_answer *answer,
		     void *arg))
{
	const struct hookcall_config config = {
		.loop = run->adm->config.loop,
		.store = run->adm->config.store,
		.fetcher = run->adm->config.fetcher,
		.cert_pem = run->adm->config.cert_pem,
		.key_pem = run->adm->config.key_pem,
		.hook = hook,
		.req = run->req,
		.version = version,
		.done = done,
		.arg = run,
	};

	return hookcall_start(&config);
}

int
run_check_dry(const struct run *run, const struct hook *hook, struct status *st)
{
	if (!run->req->dry_run || hook->no_side_effects)
		return 0;
	return status_bad_request(
		st, "admission webhook \"%s\" does not support dry run",
		hook->name);
}

static void
keep_warnings(struct admission_request *req, const json_t *warnings)
{
	json_t *text;
	size_t i;

	json_array_foreach(warnings, i, text)
	{
		if (req->warnings == NULL)
			req->warnings = json_array();
		if (json_is_string(text) &&
		    json_array_size(req->warnings) < WARNINGS_MAX)
			(void)json_array_append(req->warnings, text);
	}
}

int
run_judge(struct run *run, const struct hook *hook,
	  struct review_answer *answer, struct status *st)
{
	keep_warnings(run->req, answer->warnings);
	switch (answer->result) {
	case REVIEW_ALLOWED:
		return 0;
	case REVIEW_DENIED:
		status_done(st);
		*st = answer->status;
		answer->status = STATUS_INIT;
		return -1;
	case REVIEW_FAILED:
		break;
	}
	if (hook->fails_closed)
		return status_internal(st, "failed calling webhook \"%s\": %s",
				       hook->name, answer->why);
	log_warning(NULL, "failed calling webhook '%s', ignoring: %s",
		    hook->name, answer->why);
	return 0;
}

/* A run that waits for the service account of a new namespace. */
struct waiting {
	struct run run;
	struct loop_timer *timer;
};

static void
waiting_release(struct run *run)
{
	struct waiting *waiting = (struct waiting *)run;

	loop_timer_free(waiting->timer);
	free(waiting);
}

/* Defaults, then webhooks. */
static void
mutate_go_on(const struct run *from)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	if (plugins_mutate(from->adm->plugins, from->req, &st) == -1)
		from->done(-1, &st, from->arg);
	else
		mutate_start(from);
}

static void
waiting_look(struct run *run)
{
	if (plugins_must_wait(run->adm->plugins, run->req))
		return;

	const struct run last = run_leave(run);

	mutate_go_on(&last);
}

/* It did not come: the plugin knows how to say so. */
static void
waiting_late(void *arg)
{
	const struct run last = run_leave(arg);

	mutate_go_on(&last);
}

static void
wait_for_account(const struct run *from)
{
	struct waiting *waiting = xmalloc0(sizeof(*waiting));

	waiting->run.release = waiting_release;
	waiting->run.look = waiting_look;
	run_init(&waiting->run, from);
	waiting->timer = loop_timer_new(from->adm->config.loop, waiting_late,
					&waiting->run);
	loop_timer_start(waiting->timer, ACCOUNT_WAIT_US);
}

static void
on_account(const struct event *event, void *arg)
{
	struct admission *adm = arg;
	struct run *run, *next;

	if (event->type == EVENT_DELETED)
		return;
	for (run = adm->runs; run != NULL; run = next) {
		next = run->next;
		if (run->look != NULL)
			run->look(run);
	}
}

void
admission_mutate(struct admission *adm, struct admission_request *req,
		 admission_done done, void *arg)
{
	const struct run from = {
		.adm = adm, .req = req, .done = done, .arg = arg
	};
	AUTO(status_done) struct status st = STATUS_INIT;

	if (lifecycle_check(adm->config.store, req, &st) == -1)
		done(-1, &st, arg);
	else if (plugins_must_wait(adm->plugins, req))
		wait_for_account(&from);
	else
		mutate_go_on(&from);
}

void
admission_validate(struct admission *adm, struct admission_request *req,
		   admission_done done, void *arg)
{
	const struct run from = {
		.adm = adm, .req = req, .done = done, .arg = arg
	};
	AUTO(status_done) struct status st = STATUS_INIT;

	if (plugins_validate(adm->plugins, req, &st) == -1)
		done(-1, &st, arg);
	else
		validate_start(&from);
}

int
admission_commit(struct admission *adm, const struct admission_request *req,
		 uint64_t rv, struct status *st)
{
	/* The namespace may have gone while webhooks were asked. */
	if (req->op == ADMISSION_CREATE &&
	    lifecycle_check(adm->config.store, req, st) == -1)
		return -1;
	return quota_charge(adm->quota, req, rv, st);
}

void
admission_revoke(struct admission *adm, uint64_t rv)
{
	quota_release(adm->quota, rv);
}

struct quota *
admission_quota(struct admission *adm)
{
	return adm->quota;
}

struct admission *
admission_new(const struct admission_config *config)
{
	struct admission *adm = xmalloc0(sizeof(*adm));
	struct store *store = config->store;

	adm->config = *config;
	adm->mutating = hooks_new(store, "mutatingwebhookconfigurations");
	adm->validating = hooks_new(store, "validatingwebhookconfigurations");
	adm->plugins = plugins_new(store);
	adm->quota = quota_new(config->loop, store, config->registry);
	adm->on_account = follow_changes(
		store, store_collection(store, "", "serviceaccounts"),
		on_account, adm);
	return adm;
}

void
admission_free(struct admission *adm)
{
	if (adm == NULL)
		return;
	while (adm->runs != NULL) {
		struct status st = STATUS_INIT;

		(void)status_unavailable(&st, "the server is shutting down");
		run_end(adm->runs, -1, &st);
	}
	unsubscribe(adm->on_account);
	quota_free(adm->quota);
	plugins_free(adm->plugins);
	hooks_free(adm->mutating);
	hooks_free(adm->validating);
	free(adm);
}
