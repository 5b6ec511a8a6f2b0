/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/follow.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/human.h"
#include "ctl/screen.h"
#include "ctl/verb.h"
#include "ctl/watched.h"
#include "kube/conditions.h"
#include "kube/obj.h"

#define PERCENT_ALL 100
#define US_PER_MS UINT64_C(1000)

enum kinds {
	KIND_VMIM,
	KIND_VMI,
};

int
follow_status(enum follow_end end)
{
	static const int statuses[] = {
		[FOLLOW_SUCCEEDED] = 0,
		[FOLLOW_FAILED] = FOLLOW_STATUS_FAILED,
		[FOLLOW_CANCELED] = FOLLOW_STATUS_CANCELED,
		[FOLLOW_TIMED_OUT] = FOLLOW_STATUS_TIMED_OUT,
		[FOLLOW_DETACHED] = FOLLOW_STATUS_DETACHED,
	};

	return statuses[end];
}

/* The condition that says why it waits or failed; NULL. */
static const json_t *
telling(const json_t *vmim, const char *type)
{
	const json_t *list = js_arr_at(vmim, "status.conditions");

	return condition_is_true(list, type) ? condition_get(list, type) : NULL;
}

static char *
transfer_line(const json_t *progress)
{
	char sent[HUMAN_SIZE], rate[HUMAN_SIZE], left[HUMAN_SIZE];
	char dirty[HUMAN_SIZE], eta[HUMAN_SIZE];
	int64_t percent = js_int_at(progress, "percent", 0);
	int64_t seconds = js_int_at(progress, "etaSeconds", 0);
	char bar[FOLLOW_WIDTH + 1];
	int full;

	percent = percent < 0             ? 0
		  : percent > PERCENT_ALL ? PERCENT_ALL
					  : percent;
	full = (int)(percent * FOLLOW_WIDTH / PERCENT_ALL);
	memset(bar, '.', FOLLOW_WIDTH);
	memset(bar, '#', (size_t)full);
	bar[FOLLOW_WIDTH] = '\0';
	if (seconds > 0)
		(void)snprintf(eta, sizeof(eta), "%llds", (long long)seconds);
	else
		(void)snprintf(eta, sizeof(eta), "?");
	return xasprintf(
		"[%s] %3d%%  ETA %s, %s/s, dirties %s/s, pass %lld, %s left, "
		"%s sent",
		bar, (int)percent, eta,
		human_bytes(js_int_at(progress, "rateBytesPerSecond", 0), rate),
		human_bytes(js_int_at(progress, "dirtyRateBytesPerSecond", 0),
			    dirty),
		(long long)js_int_at(progress, "iteration", 0),
		human_bytes(js_int_at(progress, "bytesRemaining", 0), left),
		human_bytes(js_int_at(progress, "bytesProcessed", 0), sent));
}

const json_t *
follow_state(const json_t *vmim, const json_t *vmi)
{
	const json_t *state = js_obj_at(vmi, "status.migrationState");

	return str_equal(js_str_at(state, "migrationUid"), obj_uid(vmim))
		       ? state
		       : js_obj_at(vmim, "status.migrationState");
}

/* Of a transfer; to be freed. That it transfers is no reason to wait, every
 * other one is why the bar may stand still. */
static char *
running_line(const char *phase, const json_t *state, const json_t *waiting)
{
	AUTO(free_ptr)
	char *transfer = transfer_line(js_obj_at(state, "progress"));
	const char *mode = js_str_at(state, "mode");
	const char *reason = js_str_at(waiting, "reason");
	bool usual = reason[0] == '\0' || str_equal(reason, WAITING_TRANSFER);

	if (str_equal(mode, "PreCopy"))
		mode = "";
	/* The sentence is last: what changes stays in its place. */
	return xasprintf("%s%s%s %s%s%s%s%s", phase,
			 usual ? "" : ", waiting: ", usual ? "" : reason, mode,
			 mode[0] == '\0' ? "" : " ", transfer,
			 usual ? "" : "; ",
			 usual ? "" : js_str_at(waiting, "message"));
}

char *
follow_line(const json_t *vmim, const json_t *state)
{
	const char *phase = js_str_at(vmim, "status.phase");
	const json_t *waiting = telling(vmim, COND_WAITING);
	const json_t *failure = telling(vmim, COND_FAILURE);

	if (phase[0] == '\0')
		phase = "Accepted";
	if (str_equal(phase, "Running") && js_obj_at(state, "progress") != NULL)
		return running_line(phase, state, waiting);
	if (failure != NULL)
		return xasprintf("%s: %s: %s", phase,
				 js_str_at(failure, "reason"),
				 js_str_at(failure, "message"));
	if (waiting != NULL)
		return xasprintf("%s, waiting: %s: %s", phase,
				 js_str_at(waiting, "reason"),
				 js_str_at(waiting, "message"));
	return xstrdup(phase);
}

static void
add_telling(json_t *to, const char *name, const json_t *cond)
{
	if (cond == NULL)
		return;
	json_object_set_new(to, name,
			    json_pack("{s:s, s:s}", "reason",
				      js_str_at(cond, "reason"), "message",
				      js_str_at(cond, "message")));
}

json_t *
follow_json(const json_t *vmim, const json_t *state)
{
	const json_t *progress = js_obj_at(state, "progress");
	json_t *o = json_pack("{s:s, s:s, s:s}", "migration", obj_name(vmim),
			      "vmi", js_str_at(vmim, "spec.vmiName"), "phase",
			      js_str_at(vmim, "status.phase"));

	add_telling(o, "waiting", telling(vmim, COND_WAITING));
	add_telling(o, "failure", telling(vmim, COND_FAILURE));
	if (progress != NULL)
		json_object_set_new(o, "progress", json_deep_copy(progress));
	return o;
}

struct following {
	struct verb *verb;
	const struct follow_request *request;
	bool terminal;
	struct watched *watched;
	struct loop *loop;
	struct loop_timer *deadline; /* NULL: none */
	struct loop_timer *trouble;  /* looks whether it is over */
	struct loop_timer *detach;   /* runs after the first Ctrl-C */
	struct loop_signal *interrupt;
	char *shown;
	unsigned above; /* lines of it above the cursor */
	bool over;
	enum follow_end end;
	int result;
	struct err *err;
};

static void
finish(struct following *f, enum follow_end end)
{
	f->over = true;
	f->end = end;
	loop_stop(f->loop);
}

/* To be freed. */
static char *
text_of(const struct following *f, const json_t *vmim, const json_t *state)
{
	const char *trouble = watched_trouble(f->watched);
	AUTO(js_unref) json_t *object = NULL;
	AUTO(free_ptr) char *line = NULL;

	if (f->request->style == FOLLOW_JSON) {
		object = follow_json(vmim, state);
		if (trouble[0] != '\0')
			json_object_set_new(object, "trouble",
					    json_string(trouble));
		return js_text(object);
	}
	line = follow_line(vmim, state);
	if (trouble[0] != '\0') {
		char *both = xasprintf("Not up to date: %s; %s", trouble, line);

		free(line);
		line = both;
	}
	return screen_clean(TAKE_PTR(line), false);
}

/* The same of a migration that is not there any more. */
static char *
text_of_gone(const struct following *f)
{
	AUTO(js_unref) json_t *object = NULL;

	if (f->request->style != FOLLOW_JSON)
		return xstrdup("Gone: somebody has deleted the migration");
	object = json_pack("{s:s, s:s, s:s, s:b}", "migration",
			   f->request->migration, "vmi", f->request->vmi,
			   "phase", "", "gone", 1);
	return js_text(object);
}

/* Takes the line. */
static void
show(struct following *f, char *text)
{
	AUTO(free_ptr) char *line = text;

	if (f->shown != NULL && str_equal(f->shown, line))
		return;
	if (f->terminal) {
		screen_rewrite(line, &f->above);
	} else {
		(void)printf("%s\n", line);
		(void)fflush(stdout);
	}
	free(f->shown);
	f->shown = TAKE_PTR(line);
}

static bool
has_ended(const json_t *vmim, enum follow_end *ret_end)
{
	const char *phase = js_str_at(vmim, "status.phase");
	const json_t *failure = telling(vmim, COND_FAILURE);

	if (str_equal(phase, "Succeeded"))
		*ret_end = FOLLOW_SUCCEEDED;
	else if (!str_equal(phase, "Failed"))
		return false;
	else if (failure != NULL &&
		 str_equal(js_str_at(failure, "reason"), "Canceled"))
		*ret_end = FOLLOW_CANCELED;
	else
		*ret_end = FOLLOW_FAILED;
	return true;
}

/* One that is gone was canceled. */
static void
look(void *arg)
{
	struct following *f = arg;
	AUTO(js_unref) json_t *vmims = watched_items(f->watched, KIND_VMIM);
	AUTO(js_unref) json_t *vmis = watched_items(f->watched, KIND_VMI);
	const json_t *vmim = json_array_get(vmims, 0);
	enum follow_end end;

	if (f->over)
		return;
	if (vmim == NULL) {
		show(f, text_of_gone(f));
		finish(f, FOLLOW_CANCELED);
		return;
	}
	show(f, text_of(f, vmim, follow_state(vmim, json_array_get(vmis, 0))));
	if (has_ended(vmim, &end))
		finish(f, end);
	else if (watched_trouble(f->watched)[0] != '\0')
		loop_timer_start(f->trouble, FOLLOW_TROUBLE_MS * US_PER_MS);
}

static void
on_deadline(void *arg)
{
	finish(arg, FOLLOW_TIMED_OUT);
}

static void
on_detach(void *arg)
{
	finish(arg, FOLLOW_DETACHED);
}

/* A line of its own, beside what is being rewritten. */
static void
say(struct following *f, const char *what)
{
	if (f->terminal)
		(void)printf("\n");
	f->above = 0;
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s %s\n", f->request->migration, what);
}

static void
on_canceled(const struct kube_result *result, void *arg)
{
	struct following *f = arg;

	/* One that is gone has nothing to be canceled; that is seen. */
	if (result->status->code == 0 || kube_is_not_found(result))
		return;
	f->result = err_set(f->err, ERR_REFUSED, "cannot cancel %s: %s",
			    f->request->migration, result->status->message);
	finish(f, FOLLOW_FAILED);
}

static void
on_interrupt(int signo, void *arg)
{
	struct following *f = arg;
	const struct kube_request request = {
		.verb = KUBE_DELETE,
		.resource = &api_vmims,
		.ns = f->verb->ns,
		.name = f->request->migration,
	};

	(void)signo;
	if (!loop_timer_running(f->detach)) {
		say(f, "goes on; Ctrl-C once more cancels it");
		loop_timer_start(f->detach, FOLLOW_TWICE_MS * US_PER_MS);
		return;
	}
	loop_timer_stop(f->detach);
	say(f, "is being canceled");
	(void)kube_send(kubesync_client(f->verb->kube), &request, on_canceled,
			f);
}

static void
open_following(struct following *f)
{
	AUTO(free_ptr)
	char *vmim = xasprintf("metadata.name=%s", f->request->migration);
	AUTO(free_ptr)
	char *vmi = xasprintf("metadata.name=%s", f->request->vmi);
	const struct watched_kind kinds[] = {
		[KIND_VMIM] = { .resource = &api_vmims,
				.ns = f->verb->ns,
				.field_selector = vmim },
		[KIND_VMI] = { .resource = &api_vmis,
			       .ns = f->verb->ns,
			       .field_selector = vmi,
			       .optional = true },
	};

	f->loop = kubesync_loop(f->verb->kube);
	f->watched =
		watched_new(f->verb->kube, kinds, ARRAY_LEN(kinds), look, f);
	f->trouble = loop_timer_new(f->loop, look, f);
	f->detach = loop_timer_new(f->loop, on_detach, f);
	f->interrupt = loop_signal_new(f->loop, SIGINT, on_interrupt, f);
	if (f->request->timeout_ms != 0) {
		f->deadline = loop_timer_new(f->loop, on_deadline, f);
		loop_timer_start(f->deadline,
				 f->request->timeout_ms * US_PER_MS);
	}
}

static void
close_following(struct following *f)
{
	watched_free(f->watched);
	loop_signal_free(f->interrupt);
	loop_timer_free(f->detach);
	loop_timer_free(f->trouble);
	if (f->deadline != NULL)
		loop_timer_free(f->deadline);
	free(f->shown);
}

int
follow_migration(struct verb *verb, const struct follow_request *request,
		 enum follow_end *ret_end, struct err *err)
{
	struct following f = {
		.verb = verb,
		.request = request,
		.terminal = request->style == FOLLOW_AUTO && screen_is_there(),
		.err = err,
	};

	open_following(&f);
	f.result = watched_wait(f.watched, err);
	if (f.result == 0 && !f.over) {
		look(&f);
		while (!f.over)
			loop_run(f.loop);
	}
	if (f.over && f.end == FOLLOW_TIMED_OUT)
		say(&f, "goes on; the time to wait for it is up");
	else if (f.terminal && f.shown != NULL)
		(void)printf("\n");
	*ret_end = f.end;
	close_following(&f);
	return f.result;
}
