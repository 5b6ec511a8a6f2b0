/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/follow.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/human.h"
#include "ctl/verb.h"
#include "kube/conditions.h"
#include "kube/obj.h"

#define PERCENT_ALL 100
#define NS_PER_MS 1000000L

static volatile sig_atomic_t interrupts;

static void
on_interrupt(int signo)
{
	(void)signo;
	interrupts++;
}

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
		"[%s] %3d%%  %s sent, %s left, %s/s, dirties %s/s, pass %lld, "
		"ETA %s",
		bar, (int)percent,
		human_bytes(js_int_at(progress, "bytesProcessed", 0), sent),
		human_bytes(js_int_at(progress, "bytesRemaining", 0), left),
		human_bytes(js_int_at(progress, "rateBytesPerSecond", 0), rate),
		human_bytes(js_int_at(progress, "dirtyRateBytesPerSecond", 0),
			    dirty),
		(long long)js_int_at(progress, "iteration", 0), eta);
}

char *
follow_line(const json_t *vmim, const json_t *state)
{
	const char *phase = js_str_at(vmim, "status.phase");
	const json_t *progress = js_obj_at(state, "progress");
	const json_t *waiting = telling(vmim, COND_WAITING);
	const json_t *failure = telling(vmim, COND_FAILURE);

	if (phase[0] == '\0')
		phase = "Accepted";
	if (str_equal(phase, "Running") && progress != NULL) {
		AUTO(free_ptr) char *transfer = transfer_line(progress);
		const char *mode = js_str_at(state, "mode");

		return xasprintf("%s %s%s%s", phase,
				 str_equal(mode, "PreCopy") ? "" : mode,
				 str_equal(mode, "PreCopy") ? "" : " ",
				 transfer);
	}
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
	const char *name;
	enum follow_style style;
	bool terminal;
	char *shown;
};

static void
show(struct following *f, const json_t *vmim, const json_t *state)
{
	AUTO(js_unref) json_t *object = NULL;
	AUTO(free_ptr) char *line = NULL;

	if (f->style == FOLLOW_JSON) {
		object = follow_json(vmim, state);
		line = js_text(object);
	} else {
		line = follow_line(vmim, state);
	}
	if (f->shown != NULL && str_equal(f->shown, line))
		return;
	if (f->terminal)
		(void)printf("\r\033[K%s", line);
	else
		(void)printf("%s\n", line);
	(void)fflush(stdout);
	free(f->shown);
	f->shown = TAKE_PTR(line);
}

static int
get(struct following *f, const struct kube_resource *resource, const char *name,
    json_t **ret, struct err *err)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = resource,
		.ns = f->verb->ns,
		.name = name,
	};

	return kubesync_send(f->verb->kube, &request, ret, err);
}

/* Only what is of this migration. */
static const json_t *
state_of(const json_t *vmi, const json_t *vmim)
{
	const json_t *state = js_obj_at(vmi, "status.migrationState");

	return str_equal(js_str_at(state, "migrationUid"), obj_uid(vmim))
		       ? state
		       : NULL;
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

static int
cancel(struct following *f, struct err *err)
{
	struct kube_request request = {
		.verb = KUBE_DELETE,
		.resource = &api_vmims,
		.ns = f->verb->ns,
		.name = f->name,
	};

	(void)fprintf(stderr, "canceling %s\n", f->name);
	return kubesync_send(f->verb->kube, &request, NULL, err);
}

/* 1: it has ended, 0: not yet. One that is gone was canceled.
 */
static int
look(struct following *f, enum follow_end *ret_end, struct err *err)
{
	AUTO(js_unref) json_t *vmim = NULL;
	AUTO(js_unref) json_t *vmi = NULL;
	struct err ignored;

	if (get(f, &api_vmims, f->name, &vmim, err) == -1) {
		if (err->kind != ERR_NOT_FOUND)
			return -1;
		*ret_end = FOLLOW_CANCELED;
		return 1;
	}
	(void)get(f, &api_vmis, js_str_at(vmim, "spec.vmiName"), &vmi,
		  &ignored);
	show(f, vmim, vmi == NULL ? NULL : state_of(vmi, vmim));
	return has_ended(vmim, ret_end);
}

static void
pause_shortly(void)
{
	struct timespec pause = { .tv_nsec = FOLLOW_POLL_MS * NS_PER_MS };

	(void)nanosleep(&pause, NULL);
}

/* After the first Ctrl-C a second one may follow; 1: nobody
 * follows any more. */
static int
interrupted(struct following *f, uint64_t *first_ms, struct err *err)
{
	if (interrupts == 0)
		return 0;
	if (interrupts == 1) {
		if (*first_ms == 0) {
			*first_ms = loop_now_ms();
			(void)fprintf(stderr,
				      "\n%s goes on; once more "
				      "to cancel it\n",
				      f->name);
		}
		return loop_now_ms() > *first_ms + FOLLOW_TWICE_MS;
	}
	interrupts = 0;
	*first_ms = 0;
	return cancel(f, err);
}

static int
follow(struct following *f, uint64_t timeout_ms, enum follow_end *ret_end,
       struct err *err)
{
	uint64_t until =
		timeout_ms == 0 ? UINT64_MAX : loop_now_ms() + timeout_ms;
	uint64_t first_ms = 0;
	int result;

	for (;;) {
		result = look(f, ret_end, err);
		if (result != 0)
			return result == 1 ? 0 : -1;
		if (loop_now_ms() > until) {
			*ret_end = FOLLOW_TIMED_OUT;
			return 0;
		}
		result = interrupted(f, &first_ms, err);
		if (result == -1)
			return -1;
		if (result == 1) {
			*ret_end = FOLLOW_DETACHED;
			return 0;
		}
		pause_shortly();
	}
}

int
follow_migration(struct verb *verb, const char *name, enum follow_style style,
		 uint64_t timeout_ms, enum follow_end *ret_end, struct err *err)
{
	struct following f = {
		.verb = verb,
		.name = name,
		.style = style,
		.terminal = style == FOLLOW_AUTO && isatty(STDOUT_FILENO),
	};
	struct sigaction action = { .sa_handler = on_interrupt }, before;
	int result;

	interrupts = 0;
	(void)sigaction(SIGINT, &action, &before);
	result = follow(&f, timeout_ms, ret_end, err);
	(void)sigaction(SIGINT, &before, NULL);
	if (f.terminal)
		(void)printf("\n");
	free(f.shown);
	return result;
}
