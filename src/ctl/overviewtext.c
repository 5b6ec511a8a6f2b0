/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/human.h"
#include "ctl/overview.h"
#include "ctl/screen.h"
#include "ctl/table.h"
#include "meta/time.h"

#define CELL_SIZE 32
#define FIXED_LINES 6 /* heads, titles, empty lines */
#define NODES_SHARE 3 /* nodes have at least so small a part of the lines */
#define CLOCK_AT 11   /* in "2026-11-16T03:48:24Z" */
#define CLOCK_LEN 8
#define US_PER_S INT64_C(1000000)

/* Several numbers of a transfer; "" where there is none. */
struct cells {
	char percent[CELL_SIZE], rate[CELL_SIZE], dirty[CELL_SIZE];
	char pass[CELL_SIZE], eta[CELL_SIZE];
};

static void
fill_rate(const json_t *progress, const char *member, char cell[CELL_SIZE])
{
	char text[HUMAN_SIZE];

	(void)snprintf(cell, CELL_SIZE, "%s/s",
		       human_bytes(js_int_at(progress, member, 0), text));
}

static void
fill_cells(const json_t *migration, struct cells *cells)
{
	const json_t *progress = js_obj_at(migration, "progress");
	int64_t eta = js_int_at(progress, "etaSeconds", 0);

	*cells = (struct cells){ .percent = "" };
	if (progress == NULL ||
	    !str_equal(js_str_at(migration, "state"), "running"))
		return;
	(void)snprintf(cells->percent, CELL_SIZE, "%lld%%",
		       (long long)js_int_at(progress, "percent", 0));
	fill_rate(progress, "rateBytesPerSecond", cells->rate);
	fill_rate(progress, "dirtyRateBytesPerSecond", cells->dirty);
	(void)snprintf(cells->pass, CELL_SIZE, "%lld",
		       (long long)js_int_at(progress, "iteration", 0));
	if (eta > 0)
		(void)time_human(eta * US_PER_S, cells->eta);
}

/* Why it waits or failed, or how it ended; to be freed. */
static char *
note_of(const json_t *migration, int64_t now_us)
{
	const json_t *why = js_obj_at(migration, "failure");
	const char *ended = js_str_at(migration, "ended");
	const char *mode = js_str_at(migration, "mode");
	char ago[TIME_TEXT_SIZE], took[TIME_TEXT_SIZE];
	char pause[HUMAN_PAUSE_SIZE];
	struct buf note = BUF_INIT(BUF_UNLIMITED);

	if (ended[0] != '\0') {
		(void)buf_printf(&note, "%s ago, took %s",
				 time_age(ended, now_us, ago),
				 time_human(js_int_at(migration, "seconds", 0) *
						    US_PER_S,
					    took));
		(void)human_pause(
			js_int_at(migration, "progress.downtimeMs", 0),
			js_int_at(migration, "progress.blackoutMs", 0), pause);
		if (pause[0] != '\0')
			(void)buf_printf(&note, ", stood still %s", pause);
	} else if (mode[0] != '\0' && !str_equal(mode, "PreCopy")) {
		(void)buf_append_str(&note, mode);
	}
	if (why == NULL)
		why = js_obj_at(migration, "waiting");
	if (why != NULL && !str_equal(js_str_at(why, "reason"), "Transfer"))
		(void)buf_printf(&note, "%s%s: %s", note.len > 0 ? "; " : "",
				 js_str_at(why, "reason"),
				 js_str_at(why, "message"));
	(void)buf_append(&note, "", 1);
	return (char *)note.data;
}

/* named: with the names of the migrations. */
static struct table *
migrations_table(const json_t *overview, bool named)
{
	/* What may be left off is in front, namespaces where it is only one. */
	static const char *const titles[][2] = { { "MIGRATION", "NAMESPACE" },
						 { "NAMESPACE", "MIGRATION" } };
	const char *cells[] = { titles[named][0],
				titles[named][1],
				"VM",
				"FROM",
				"TO",
				"PHASE",
				"DONE",
				"RATE",
				"DIRTY",
				"PASS",
				"ETA",
				"NOTE" };
	size_t skip = (named ? 0 : 1) + (js_at(overview, "namespace") != NULL);
	struct table *table = table_new(cells + skip, ARRAY_LEN(cells) - skip);
	int64_t now_us = 0;
	struct err ignored;
	const json_t *m;
	size_t i;

	(void)time_parse(js_str_at(overview, "time"), &now_us, &ignored);
	json_array_foreach(js_arr_at(overview, "migrations"), i, m)
	{
		AUTO(free_ptr) char *note = note_of(m, now_us);
		const char *name = js_str_at(m, "name");
		const char *ns = js_str_at(m, "namespace");
		struct cells numbers;

		fill_cells(m, &numbers);
		table_add(table,
			  (const char *const[]){
				  named ? ns : name, named ? name : ns,
				  js_str_at(m, "vmi"), js_str_at(m, "source"),
				  js_str_at(m, "target"), js_str_at(m, "phase"),
				  numbers.percent, numbers.rate, numbers.dirty,
				  numbers.pass, numbers.eta, note } +
				  skip);
	}
	return table;
}

/* The same as it fits into so many columns. */
static struct table *
fitting_migrations(const json_t *overview, unsigned columns)
{
	struct table *table = migrations_table(overview, true);

	if (columns == 0 || table_width(table) <= columns)
		return table;
	table_put_last_below(table);
	if (table_width(table) <= columns)
		return table;
	table_free(table);
	table = migrations_table(overview, false);
	table_put_last_below(table);
	return table;
}

static struct table *
nodes_table(const json_t *overview)
{
	static const char *const titles[] = { "NODE", "STATE", "VMS",
					      "IN",   "OUT",   "DRAIN" };
	struct table *table = table_new(titles, ARRAY_LEN(titles));
	const json_t *n;
	size_t i;

	json_array_foreach(js_arr_at(overview, "nodes"), i, n)
	{
		int64_t leave = js_int_at(n, "toLeave", 0);
		char machines[CELL_SIZE], in[CELL_SIZE], out[CELL_SIZE];
		char drain[CELL_SIZE * 2];

		(void)snprintf(machines, CELL_SIZE, "%lld",
			       (long long)js_int_at(n, "machines", 0));
		(void)snprintf(in, CELL_SIZE, "%lld",
			       (long long)js_int_at(n, "incoming", 0));
		(void)snprintf(out, CELL_SIZE, "%lld",
			       (long long)js_int_at(n, "outgoing", 0));
		if (leave > 0)
			(void)snprintf(drain, sizeof(drain), "%s, %lld to go",
				       js_str_at(n, "drain"), (long long)leave);
		else
			(void)snprintf(drain, sizeof(drain), "%s",
				       js_str_at(n, "drain"));
		table_add(table,
			  (const char *const[]){ js_str_at(n, "name"),
						 js_str_at(n, "state"),
						 machines, in, out, drain });
	}
	return table;
}

static size_t
count_of(const json_t *overview, const char *state)
{
	const json_t *m;
	size_t i, count = 0;

	json_array_foreach(js_arr_at(overview, "migrations"), i, m)
	{
		count += str_equal(js_str_at(m, "state"), state);
	}
	return count;
}

static void
write_head(const json_t *overview, struct buf *out)
{
	const char *time = js_str_at(overview, "time");
	const char *ns = js_str_at(overview, "namespace");
	const json_t *sentence;
	size_t i;

	(void)buf_printf(
		out,
		"%.*s UTC  %s%s  migrations: %zu running, %zu "
		"waiting, %zu ended in the last %d min\n",
		CLOCK_LEN, strlen(time) > CLOCK_AT ? time + CLOCK_AT : "",
		ns[0] == '\0' ? "all namespaces" : "namespace ", ns,
		count_of(overview, "running"), count_of(overview, "waiting"),
		count_of(overview, "ended"), OVERVIEW_RECENT_S / 60);
	if (js_at(overview, "trouble") != NULL)
		(void)buf_printf(out, "Not up to date: %s\n",
				 js_str_at(overview, "trouble"));
	json_array_foreach(js_arr_at(overview, "unseen"), i, sentence)
	{
		(void)buf_printf(out, "Not seen: %s\n",
				 json_string_value(sentence));
	}
}

/* How many lines each table may have. */
static void
share(unsigned lines, size_t migrations, size_t nodes, size_t *ret_migrations,
      size_t *ret_nodes)
{
	size_t room = lines > FIXED_LINES ? lines - FIXED_LINES : 1;
	size_t least = room / NODES_SHARE;

	*ret_migrations = migrations;
	*ret_nodes = nodes;
	if (lines == 0 || migrations + nodes <= room)
		return;
	if (migrations < room && room - migrations > least)
		least = room - migrations;
	*ret_nodes = nodes < least ? nodes : least;
	*ret_migrations = room - *ret_nodes;
}

char *
overview_text(const json_t *overview, unsigned columns, unsigned lines)
{
	AUTO(table_unref)
	struct table *migrations = fitting_migrations(overview, columns);
	AUTO(table_unref) struct table *nodes = nodes_table(overview);
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	size_t some_migrations, some_nodes;

	share(lines, table_lines(migrations), table_lines(nodes),
	      &some_migrations, &some_nodes);
	write_head(overview, &out);
	(void)buf_append_str(&out, "\n");
	if (table_lines(migrations) > 0)
		table_write(migrations, some_migrations, &out);
	else
		(void)buf_append_str(&out, "No migrations.\n");
	if (table_lines(nodes) > 0) {
		(void)buf_append_str(&out, "\n");
		table_write(nodes, some_nodes, &out);
	}
	(void)buf_append(&out, "", 1);
	return screen_clean((char *)out.data, true);
}
