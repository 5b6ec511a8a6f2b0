/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The target of a request: path, query, the options in it, and an Accept
 * header behind a line end. What is refused has a code of HTTP's and a message;
 * what is taken has no text missing.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/server/accept.h"
#include "cluster/server/info.h"
#include "cluster/server/query.h"
#include "meta/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(int result, struct status *st)
{
	if (result == -1)
		assert(st->code >= 400 && st->code <= 599 &&
		       st->message != NULL);
	else
		assert(result == 0);
	status_done(st);
}

static void
read_options(const struct query *query)
{
	struct status st = STATUS_INIT;
	struct list_options list;
	struct write_options write;
	struct delete_options removal;

	expect(query_list_options(query, false, &list, &st), &st);
	expect(query_list_options(query, true, &list, &st), &st);
	assert(list.label_selector != NULL && list.field_selector != NULL &&
	       list.continue_ != NULL);
	expect(query_write_options(query, "CreateOptions", &write, &st), &st);
	expect(query_write_options(query, "PatchOptions", &write, &st), &st);
	assert(write.field_manager != NULL);
	expect(query_delete_options(query, NULL, &removal, &st), &st);
}

static void
read_path(const char *path, bool watch)
{
	struct status st = STATUS_INIT;
	struct info info;
	int r = info_parse("GET", path, watch, &info, &st);

	if (r == 0) {
		assert(strlen(info.path) <= strlen(path));
		assert(!info.is_resource || *info.resource != '\0');
		assert(*info.subresource == '\0' || *info.name != '\0');
	}
	info_done(&info);
	expect(r, &st);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	char *header = strchr(text, '\n');
	struct status st = STATUS_INIT;
	struct accept accept;
	struct query query;
	char *mark;
	int r;

	if (header != NULL)
		*header++ = '\0';
	mark = strchr(text, '?');
	if (mark != NULL)
		*mark++ = '\0';
	r = query_parse(mark, &query, &st);
	if (r == 0)
		read_options(&query);
	read_path(text, r == 0 && query_bool(&query, "watch"));
	query_done(&query);
	expect(r, &st);
	expect(accept_parse(header, true, &accept, &st), &st);
	free(text);
	return 0;
}
