/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/page.h"
#include "ctl/paragraph.h"
#include "ctl/screen.h"

#define DATE_LEN 10 /* of "2026-11-16T03:48:24Z" */
#define CLOCK_LEN 8
#define INDENT 4
#define MS_PER_S 1000.0

/* Of others' words, for one line: what would begin another one is a blank. What
 * else they contain the page as a whole is cleaned of. To be freed. */
static char *
one_line(const char *text)
{
	char *copy = xstrdup(text);

	for (char *c = copy; *c != '\0'; c++) {
		if (*c == '\n' || *c == '\r' || *c == '\t')
			*c = ' ';
	}
	return copy;
}

static void
write_timeline(struct buf *out, const json_t *page)
{
	int64_t left = js_int_at(page, "timelineLeft", 0);
	char date[DATE_LEN + 1] = "";
	const json_t *entry;
	size_t i;

	(void)buf_append_str(out, "\nWhat happened\n");
	if (left > 0)
		(void)buf_printf(out, "  (%lld earlier entries left off)\n",
				 (long long)left);
	json_array_foreach(js_arr_at(page, "timeline"), i, entry)
	{
		const char *time = js_str_at(entry, "time");
		AUTO(free_ptr) char *what = one_line(js_str_at(entry, "what"));

		if (strncmp(time, date, DATE_LEN) != 0) {
			(void)snprintf(date, sizeof(date), "%s", time);
			(void)buf_printf(out, "  %s (UTC)\n", date);
		}
		(void)buf_printf(out, "  %.*s  %-9s  %s\n", CLOCK_LEN,
				 time + DATE_LEN + 1, js_str_at(entry, "who"),
				 what);
	}
}

static void
write_steps(struct buf *out, const char *title, const json_t *steps)
{
	const json_t *step;
	size_t i;

	if (json_array_size(steps) == 0)
		return;
	(void)buf_printf(out, "  %s\n", title);
	json_array_foreach(steps, i, step)
	{
		const char *command = js_str_at(step, "command");

		paragraph_write(out, INDENT, js_str_at(step, "what"));
		if (command[0] != '\0')
			(void)buf_printf(out, "        %s\n", command);
	}
}

static const char *
title_of(const json_t *finding)
{
	static const struct {
		const char *about, *title;
	} titles[] = {
		{ "waits", "What it waits for" },
		{ "failed", "Why it failed" },
		{ "machine", "What is wrong with the machine" },
		{ "node", "What is wrong with a node" },
		{ PAGE_EVENT, "What was seen" },
	};
	const char *about = js_str_at(finding, "about");

	for (size_t i = 0; i < ARRAY_LEN(titles); i++) {
		if (str_equal(about, titles[i].about))
			return titles[i].title;
	}
	return about;
}

static void
write_finding(struct buf *out, const json_t *finding)
{
	const char *since = js_str_at(finding, "since");
	const char *runbook = js_str_at(finding, "runbook");
	AUTO(free_ptr) char *code = one_line(js_str_at(finding, "code"));

	(void)buf_printf(out, "\n%s: %s", title_of(finding), code);
	if (since[0] != '\0')
		(void)buf_printf(out, " (since %s)", since);
	(void)buf_append_str(out, "\n");
	paragraph_write(out, INDENT, js_str_at(finding, "message"));
	paragraph_write(out, INDENT, js_str_at(finding, "detail"));
	paragraph_write(out, INDENT, js_str_at(finding, "meaning"));
	write_steps(out, "Check", js_arr_at(finding, "checks"));
	write_steps(out, "Do", js_arr_at(finding, "remedies"));
	if (runbook[0] != '\0')
		(void)buf_printf(out, "  More: %s\n", runbook);
}

static void
write_prediction(struct buf *out, const json_t *prediction)
{
	const json_t *actual = js_obj_at(prediction, "actual");

	if (prediction == NULL)
		return;
	(void)buf_append_str(out, "\nPredicted when it began\n");
	paragraph_write(out, INDENT, js_str_at(prediction, "sentence"));
	if (actual == NULL)
		return;
	(void)buf_printf(out, "    Actual: %.1f s, ",
			 (double)js_int_at(actual, "copyMs", 0) / MS_PER_S);
	if (js_at(actual, "downtimeMs") != NULL)
		(void)buf_printf(out, "stood still for %lld ms, ",
				 (long long)js_int_at(actual, "downtimeMs", 0));
	(void)buf_printf(out, "%s\n", js_str_at(actual, "mode"));
}

char *
page_text(const json_t *page)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	const json_t *item;
	bool trouble = false;
	size_t i;

	(void)buf_printf(&out, "%s\n", js_str_at(page, "summary"));
	write_timeline(&out, page);
	write_prediction(&out, js_obj_at(page, "migration.prediction"));
	json_array_foreach(js_arr_at(page, "findings"), i, item)
	{
		write_finding(&out, item);
		if (!str_equal(js_str_at(item, "about"), PAGE_EVENT))
			trouble = true;
	}
	if (!trouble)
		(void)buf_append_str(&out, "\nNothing waits, nothing has "
					   "failed.\n");
	json_array_foreach(js_arr_at(page, "unseen"), i, item)
	{
		(void)buf_printf(&out, "%sNot seen: %s\n", i == 0 ? "\n" : "",
				 json_string_value(item));
	}
	(void)buf_append(&out, "", 1);
	return screen_clean((char *)out.data, true);
}
