/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutating webhooks of one request, one after the other.
 *
 * When one has changed the object, the plugins see it again, and of those
 * webhooks that were asked before the change, the ones that want to be. There
 * is one such second round, not more: two webhooks that undo each other's work
 * would never end.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission_internal.h"
#include "cluster/admit/hook.h"
#include "cluster/admit/hookcall.h"
#include "cluster/admit/plugins.h"
#include "cluster/admit/review.h"
#include "cluster/kinds/kind.h"
#include "meta/patch.h"
#include "meta/status.h"

/* What the second round needs to know of each hook. */
struct past {
	bool asked; /* wants to know of changes made after it was asked */
	bool again; /* there was one */
};

struct mutation {
	struct run run;
	struct hook_set *set;
	struct past *past; /* one for each hook */
	json_t *given;     /* the object that came; names may point into it */
	size_t next;       /* the hook to be asked, or being asked */
	const struct kind_version *version; /* that it sees */
	struct hookcall *call;
	bool changed; /* by a webhook, in the first round */
	bool second;
};

static void
mutation_release(struct run *run)
{
	struct mutation *m = (struct mutation *)run;

	hookcall_cancel(m->call);
	hook_set_unref(m->set);
	json_decref(m->given);
	free(m->past);
	free(m);
}

static void
ask_others_again(struct mutation *m)
{
	for (size_t i = 0; i < m->set->count; i++) {
		m->past[i].again |= m->past[i].asked;
		m->past[i].asked = false;
	}
}

/* Takes patched, which is in the version that the hook saw. */
static void
take_patched(struct mutation *m, json_t *patched)
{
	struct admission_request *req = m->run.req;

	if (m->version != req->version &&
	    str_equal(js_str_at(patched, "kind"), req->kind->kind))
		kind_convert(m->version, req->version, patched);
	if (json_equal(patched, req->object)) {
		json_decref(patched);
		return;
	}
	json_decref(req->object);
	req->object = patched;
	if (*js_str_at(patched, "metadata.name") != '\0')
		req->name = js_str_at(patched, "metadata.name");
	m->changed = true;
	ask_others_again(m);
}

static int
apply_patch(struct mutation *m, const struct hook *hook, const json_t *ops,
	    struct status *st)
{
	AUTO(js_unref) json_t *seen = NULL;
	AUTO(js_unref) json_t *patched = NULL;

	if (json_array_size(ops) == 0)
		return 0;
	if (m->run.req->object == NULL) {
		return status_internal(
			st,
			"admission webhook \"%s\" attempted to modify the "
			"object, which is not supported for this operation",
			hook->name);
	}
	seen = review_convert(m->run.req->object, m->run.req, m->version);
	patched = patch_json(seen, ops, st);
	if (!json_is_object(patched))
		return status_internal(st,
				       "the patch of admission webhook \"%s\" "
				       "does not apply",
				       hook->name);
	take_patched(m, TAKE_PTR(patched));
	return 0;
}

static void advance(struct mutation *m);

static void
on_answer(struct hookcall *call, struct review_answer *answer, void *arg)
{
	struct mutation *m = arg;
	const struct hook *hook = m->set->hooks[m->next];
	struct status st = STATUS_INIT;

	(void)call;
	m->call = NULL;
	if (run_judge(&m->run, hook, answer, &st) == -1 ||
	    apply_patch(m, hook, answer->patch, &st) == -1) {
		run_end(&m->run, -1, &st);
		return;
	}
	m->past[m->next++].asked = hook->reinvoked;
	advance(m);
}

/* 1 when the next hook is being asked, 0 when it is not wanted, or -1. */
static int
ask_next(struct mutation *m, struct status *st)
{
	const struct hook *hook = m->set->hooks[m->next];
	int wanted;

	if (m->second && !m->past[m->next].again)
		return 0;
	wanted = hook_matches(hook, m->run.adm->config.store, m->run.req,
			      &m->version, st);
	if (wanted != 1)
		return wanted;
	if (run_check_dry(&m->run, hook, st) == -1)
		return -1;
	m->call = run_ask(&m->run, hook, m->version, on_answer);
	return 1;
}

/* What the webhooks made may lack what the plugins had filled in. */
static int
begin_second(struct mutation *m, struct status *st)
{
	AUTO(js_unref) json_t *before = json_deep_copy(m->run.req->object);

	m->second = true;
	m->next = 0;
	if (plugins_mutate(m->run.adm->plugins, m->run.req, st) == -1)
		return -1;
	if (!json_equal(before, m->run.req->object))
		ask_others_again(m);
	return 0;
}

static void
advance(struct mutation *m)
{
	struct status st = STATUS_INIT;
	int result = 0;

	for (;;) {
		while (m->next < m->set->count && result == 0) {
			result = ask_next(m, &st);
			if (result == 1)
				return;
			if (result == 0)
				m->next++;
		}
		if (result == -1 || m->second || !m->changed)
			break;
		result = begin_second(m, &st);
	}
	run_end(&m->run, result, &st);
}

void
mutate_start(const struct run *from)
{
	struct hook_set *set = hooks_set(from->adm->mutating);
	struct status st = STATUS_INIT;
	struct mutation *m;

	if (set->count == 0 || run_is_exempt(from)) {
		hook_set_unref(set);
		from->done(0, &st, from->arg);
		return;
	}
	m = xmalloc0(sizeof(*m));
	m->set = set;
	m->past = xcalloc(set->count, sizeof(*m->past));
	m->given = json_incref(from->req->object);
	m->run.release = mutation_release;
	run_init(&m->run, from);
	advance(m);
}
