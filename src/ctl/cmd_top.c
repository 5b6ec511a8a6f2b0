/* SPDX-License-Identifier: Apache-2.0 */

/* The command `top`. */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "api/kinds.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/str.h"
#include "ctl/command.h"
#include "ctl/overview.h"
#include "ctl/screen.h"
#include "ctl/verb.h"
#include "ctl/watched.h"
#include "meta/time.h"

#define INTERVAL_MS_DEFAULT 1000U
#define INTERVAL_MS_MIN 100U
#define US_PER_MS UINT64_C(1000)
#define WHY_SIZE 512

enum kinds {
	KIND_VMIM,
	KIND_VMI,
	KIND_NODE,
	KIND_COUNT,
};

struct top {
	struct verb verb;
	bool all;
	bool once;
	const char *output;
	uint64_t interval_ms;
	struct watched *watched;
	struct screen *screen; /* NULL: into a pipe */
	struct loop *loop;
	struct loop_timer *refresh;
	struct loop_signal *signals[3];
	char narrow[WHY_SIZE]; /* why other namespaces are not seen; "" */
	bool written;          /* something, before */
	bool failed;           /* nobody reads any more */
};

/* A new reference. */
static json_t *
overview(const struct top *t)
{
	AUTO(js_unref) json_t *vmims = watched_items(t->watched, KIND_VMIM);
	AUTO(js_unref) json_t *vmis = watched_items(t->watched, KIND_VMI);
	AUTO(js_unref) json_t *nodes = watched_items(t->watched, KIND_NODE);
	AUTO(js_unref) json_t *unseen = json_array();
	const struct overview_facts facts = {
		.ns = t->all ? NULL : t->verb.ns,
		.vmims = vmims,
		.vmis = vmis,
		.nodes = nodes,
		.unseen = unseen,
		.trouble = watched_trouble(t->watched),
		.now_us = time_now_us(),
	};

	if (t->narrow[0] != '\0')
		json_array_append_new(unseen, json_sprintf("other namespaces: "
							   "%s",
							   t->narrow));
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		const char *why = watched_unseen(t->watched, kind);

		if (why[0] != '\0')
			json_array_append_new(unseen, json_string(why));
	}
	return overview_json(&facts);
}

static void
write_text(struct top *t, const char *text)
{
	(void)printf("%s%s", t->written && t->output == NULL ? "\n" : "", text);
	t->written = true;
	if (fflush(stdout) == EOF)
		t->failed = true;
}

static void
show(struct top *t)
{
	AUTO(js_unref) json_t *now = overview(t);
	AUTO(free_ptr) char *text = NULL;
	unsigned columns, rows;

	if (t->output != NULL) {
		AUTO(free_ptr) char *line = js_text(now);

		text = xasprintf("%s\n", line);
		write_text(t, text);
	} else if (t->screen != NULL) {
		screen_size(&columns, &rows);
		text = overview_text(now, columns, rows);
		screen_draw(t->screen, text);
	} else {
		text = overview_text(now, 0, 0);
		write_text(t, text);
	}
}

static void
on_refresh(void *arg)
{
	struct top *t = arg;

	show(t);
	if (t->failed)
		loop_stop(t->loop);
	else
		loop_timer_start(t->refresh, t->interval_ms * US_PER_MS);
}

static void
on_key(char key, void *arg)
{
	struct top *t = arg;

	if (key == 'q' || key == 'Q')
		loop_stop(t->loop);
}

static void
on_resize(void *arg)
{
	show(arg);
}

static void
on_signal(int signo, void *arg)
{
	struct top *t = arg;

	(void)signo;
	loop_stop(t->loop);
}

static void
run(struct top *t)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	const struct screen_callbacks callbacks = { on_key, on_resize, t };

	_Static_assert(ARRAY_LEN(numbers) ==
			       sizeof(t->signals) / sizeof(t->signals[0]),
		       "each has its place");
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		t->signals[i] =
			loop_signal_new(t->loop, numbers[i], on_signal, t);
	if (t->output == NULL && screen_is_there())
		t->screen = screen_open(t->loop, &callbacks);
	t->refresh = loop_timer_new(t->loop, on_refresh, t);
	loop_timer_start(t->refresh, 0);
	loop_run(t->loop);
	screen_close(t->screen);
	loop_timer_free(t->refresh);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		loop_signal_free(t->signals[i]);
}

/* Everything of one namespace, or of all for NULL. */
static int
look(struct top *t, const char *ns, struct err *err)
{
	const struct watched_kind kinds[KIND_COUNT] = {
		[KIND_VMIM] = { .resource = &api_vmims, .ns = ns },
		[KIND_VMI] = { .resource = &api_vmis, .ns = ns },
		[KIND_NODE] = { .resource = &kube_nodes, .optional = true },
	};

	watched_free(t->watched);
	t->watched = watched_new(t->verb.kube, kinds, KIND_COUNT, NULL, NULL);
	return watched_wait(t->watched, err);
}

static int
top(struct top *t, struct err *err)
{
	if (verb_open(&t->verb, err) == -1)
		return -1;
	t->loop = kubesync_loop(t->verb.kube);
	/* Nodes have machines of all namespaces; who may see only his own has
	 * to do with these. */
	if (look(t, NULL, err) == -1) {
		if (t->all)
			return -1;
		(void)snprintf(t->narrow, sizeof(t->narrow), "%s", err->text);
		if (look(t, t->verb.ns, err) == -1)
			return -1;
	}
	if (t->once)
		show(t);
	else
		run(t);
	return 0;
}

int
command_top(int argc, char **argv)
{
	struct top t = { .interval_ms = INTERVAL_MS_DEFAULT };
	const struct opt table[] = {
		KUBE_FLAGS_OPTS(&t.verb.flags),
		{ "all-namespaces", NULL, "of all namespaces", OPT_FLAG, &t.all,
		  0, 0 },
		{ "once", NULL, "only as it is now", OPT_FLAG, &t.once, 0, 0 },
		{ "interval", "TIME", "from one look to the next (default 1s)",
		  OPT_MS, &t.interval_ms, INTERVAL_MS_MIN, 0 },
		{ "output", "json", "a JSON object in a line for each look",
		  OPT_STR, &t.output, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferryctl top",
		.summary = "Shows all migrations and nodes, live; q or Ctrl-C "
			   "leaves.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (t.output != NULL && !str_equal(t.output, "json")) {
		(void)err_set(&err, ERR_INVALID, "--output: '%s' is not json",
			      t.output);
		return command_error(&err, COMMAND_USAGE);
	}
	status = 0;
	if (top(&t, &err) == -1)
		status = command_error(&err, COMMAND_FAILED);
	watched_free(t.watched);
	verb_done(&t.verb);
	return status;
}
