/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The validating webhooks of one request, all at once. All are waited for, and
 * of several refusals the client gets that of the first hook in order.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission_internal.h"
#include "cluster/admit/hook.h"
#include "cluster/admit/hookcall.h"
#include "cluster/admit/review.h"
#include "cluster/kinds/kind.h"
#include "meta/status.h"

struct asked {
	const struct hook *hook;
	const struct kind_version *version; /* that it sees */
	struct hookcall *call;              /* NULL: it has answered */
	struct status status;               /* of a refusal */
	int result;
};

struct validation {
	struct run run;
	struct hook_set *set;
	struct asked *asked;
	size_t count;
	size_t pending;
};

static void
validation_release(struct run *run)
{
	struct validation *v = (struct validation *)run;

	for (size_t i = 0; i < v->count; i++) {
		hookcall_cancel(v->asked[i].call);
		status_done(&v->asked[i].status);
	}
	hook_set_unref(v->set);
	free(v->asked);
	free(v);
}

static void
finish(struct validation *v)
{
	struct status st = STATUS_INIT;

	for (size_t i = 0; i < v->count; i++) {
		if (v->asked[i].result == 0)
			continue;
		st = v->asked[i].status;
		v->asked[i].status = STATUS_INIT;
		run_end(&v->run, -1, &st);
		return;
	}
	run_end(&v->run, 0, &st);
}

static void
on_answer(struct hookcall *call, struct review_answer *answer, void *arg)
{
	struct validation *v = arg;
	struct asked *asked = v->asked;

	while (asked->call != call)
		asked++;
	asked->call = NULL;
	asked->result = run_judge(&v->run, asked->hook, answer, &asked->status);
	if (--v->pending == 0)
		finish(v);
}

/* Which hooks want the request; -1 when one of them cannot have it. */
static int
choose(struct validation *v, struct status *st)
{
	for (size_t i = 0; i < v->set->count; i++) {
		const struct hook *hook = v->set->hooks[i];
		struct asked *asked = &v->asked[v->count];
		int wanted = hook_matches(hook, v->run.adm->config.store,
					  v->run.req, &asked->version, st);

		if (wanted == -1)
			return -1;
		if (wanted == 0)
			continue;
		if (run_check_dry(&v->run, hook, st) == -1)
			return -1;
		asked->hook = hook;
		v->count++;
	}
	return 0;
}

void
validate_start(const struct run *from)
{
	struct hook_set *set = hooks_set(from->adm->validating);
	struct status st = STATUS_INIT;
	struct validation *v;

	if (set->count == 0 || run_is_exempt(from)) {
		hook_set_unref(set);
		from->done(0, &st, from->arg);
		return;
	}
	v = xmalloc0(sizeof(*v));
	v->set = set;
	v->asked = xcalloc(set->count, sizeof(*v->asked));
	v->run.release = validation_release;
	run_init(&v->run, from);
	if (choose(v, &st) == -1) {
		run_end(&v->run, -1, &st);
		return;
	}
	v->pending = v->count;
	for (size_t i = 0; i < v->count; i++)
		v->asked[i].call = run_ask(&v->run, v->asked[i].hook,
					   v->asked[i].version, on_answer);
	if (v->count == 0)
		finish(v);
}
