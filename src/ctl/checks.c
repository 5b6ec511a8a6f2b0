/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/checks.h"

#include <stdarg.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/screen.h"

static const char *const names[] = {
	[CHECK_OK] = "ok",
	[CHECK_FAIL] = "fail",
	[CHECK_NOTE] = "note",
	[CHECK_UNKNOWN] = "unknown",
};
_Static_assert(ARRAY_LEN(names) == CHECK_RESULT_COUNT, "a name per result");

void
checks_add(json_t *checks, const char *where, enum check_result result,
	   const char *what, const char *fmt, ...)
{
	AUTO(free_ptr) char *detail = NULL;
	va_list ap;

	va_start(ap, fmt);
	detail = xvasprintf(fmt, ap);
	va_end(ap);
	json_array_append_new(checks,
			      json_pack("{s:s, s:s, s:s, s:s}", "where", where,
					"what", what, "result", names[result],
					"detail", detail));
}

size_t
checks_count(const json_t *checks, const char *where, enum check_result result)
{
	const json_t *check;
	size_t i, count = 0;

	json_array_foreach(checks, i, check)
	{
		if (str_equal(js_str_at(check, "result"), names[result]) &&
		    (where == NULL ||
		     str_equal(js_str_at(check, "where"), where)))
			count++;
	}
	return count;
}

json_t *
checks_grouped(const json_t *checks)
{
	AUTO(js_unref) json_t *places = json_object();
	json_t *all = json_array(), *check, *list;
	const char *place;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		place = js_str_at(check, "where");
		if (json_object_get(places, place) == NULL)
			json_object_set_new(places, place, json_array());
		json_array_append(json_object_get(places, place), check);
	}
	json_object_foreach(places, place, list)
	{
		json_array_extend(all, list);
	}
	return all;
}

/* What needs to be seen stands out. */
static const char *
shown(const char *result)
{
	if (str_equal(result, names[CHECK_FAIL]))
		return "FAIL";
	return str_equal(result, names[CHECK_UNKNOWN]) ? "?" : result;
}

/* A line each, of whatever others have written; to be freed. */
static char *
clean(const json_t *check, const char *member)
{
	return screen_clean(xstrdup(js_str_at(check, member)), false);
}

char *
checks_text(const json_t *checks)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	AUTO(free_ptr) char *where = xstrdup("");
	const json_t *check;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		AUTO(free_ptr) char *place = clean(check, "where");
		AUTO(free_ptr) char *what = clean(check, "what");
		AUTO(free_ptr) char *detail = clean(check, "detail");

		(void)buf_printf(&out, "%s%s  %-4s  %-18s  %s\n",
				 str_equal(where, place) ? "" : place,
				 str_equal(where, place) ? "" : "\n",
				 shown(js_str_at(check, "result")), what,
				 detail);
		free(where);
		where = TAKE_PTR(place);
	}
	(void)buf_append(&out, "", 1);
	return (char *)out.data;
}
