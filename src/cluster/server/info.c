/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/server/info.h"
#include "cluster/server/query.h"
#include "meta/status.h"

#define SEGMENTS_MAX 64

/* What a method means for a resource, with and without a name. */
static const struct {
	const char *method;
	unsigned named;
	unsigned collection;
} methods[] = {
	{ "GET", VERB_GET, VERB_LIST },
	{ "HEAD", VERB_GET, VERB_LIST },
	{ "POST", VERB_CREATE, VERB_CREATE },
	{ "PUT", VERB_UPDATE, VERB_UPDATE },
	{ "PATCH", VERB_PATCH, VERB_PATCH },
	{ "DELETE", VERB_DELETE, VERB_DELETECOLLECTION },
};

static unsigned
verb_of(const char *method, bool named)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (str_equal(method, methods[i].method))
			return named ? methods[i].named : methods[i].collection;
	return 0;
}

struct segments {
	char *at[SEGMENTS_MAX];
	size_t count;
};

/* Cuts the decoded path at its slashes; empty segments are left out. */
static int
split(char *path, struct segments *ret)
{
	char *save = NULL;

	ret->count = 0;
	for (char *s = strtok_r(path, "/", &save); s != NULL;
	     s = strtok_r(NULL, "/", &save)) {
		if (ret->count == SEGMENTS_MAX)
			return -1;
		ret->at[ret->count++] = s;
	}
	return 0;
}

/*
 * Joins what is left into one subresource. The segments lie behind each other
 * in one string, so that putting the slashes back is enough.
 */
static const char *
join(struct segments *seg, size_t from)
{
	if (from >= seg->count)
		return "";
	for (size_t i = from; i + 1 < seg->count; i++) {
		char *end = seg->at[i] + strlen(seg->at[i]);

		memmove(end + 1, seg->at[i + 1], strlen(seg->at[i + 1]) + 1);
		*end = '/';
		seg->at[i + 1] = seg->at[i];
	}
	return seg->at[from];
}

/* A namespace itself, or its status, is a resource and not a prefix. */
static bool
names_a_namespace(const struct segments *seg, size_t at)
{
	if (seg->count == at + 2)
		return true;
	return seg->count == at + 3 && (str_equal(seg->at[at + 2], "status") ||
					str_equal(seg->at[at + 2], "finalize"));
}

static void
read_resource(struct segments *seg, size_t at, struct info *info)
{
	if (at < seg->count && str_equal(seg->at[at], "watch")) {
		info->legacy_watch = true;
		at++;
	}
	if (at + 1 < seg->count && str_equal(seg->at[at], "namespaces")) {
		info->namespace_ = seg->at[at + 1];
		if (!names_a_namespace(seg, at))
			at += 2;
	}
	if (at >= seg->count)
		return;
	info->is_resource = true;
	info->resource = seg->at[at];
	if (at + 1 < seg->count)
		info->name = seg->at[at + 1];
	info->subresource = join(seg, at + 2);
}

static void
read_path(struct segments *seg, struct info *info)
{
	if (seg->count >= 3 && str_equal(seg->at[0], "api")) {
		info->version = seg->at[1];
		read_resource(seg, 2, info);
	} else if (seg->count >= 4 && str_equal(seg->at[0], "apis")) {
		info->group = seg->at[1];
		info->version = seg->at[2];
		read_resource(seg, 3, info);
	}
}

static void
choose_verb(const char *method, bool watch, struct info *info)
{
	bool named = info->name[0] != '\0';

	info->verb = verb_of(method, named);
	if ((info->legacy_watch && info->verb != 0) ||
	    (info->verb == VERB_LIST && watch))
		info->verb = VERB_WATCH;
}

int
info_parse(const char *method, const char *raw_path, bool watch,
	   struct info *ret, struct status *st)
{
	size_t len = strlen(raw_path);
	struct segments seg;
	char *words, *lower;

	*ret = (struct info){ .group = "",
			      .version = "",
			      .namespace_ = "",
			      .resource = "",
			      .name = "",
			      .subresource = "",
			      .path = "",
			      .method = "" };
	if (len > INFO_PATH_MAX)
		return status_bad_request(
			st, "the path is longer than %d bytes", INFO_PATH_MAX);
	/* Three texts behind each other: path, words, method. */
	ret->storage = xmalloc0(2 * (len + 1) + strlen(method) + 1);
	if (query_decode(raw_path, len, ret->storage) == -1)
		return status_bad_request(st, "invalid URL escape in the path");
	ret->path = ret->storage;
	words = ret->storage + len + 1;
	memcpy(words, ret->path, strlen(ret->path) + 1);
	lower = words + len + 1;
	for (size_t i = 0; method[i] != '\0'; i++)
		lower[i] = (char)tolower((unsigned char)method[i]);
	ret->method = lower;
	if (split(words, &seg) == -1)
		return status_bad_request(st, "the path has too many parts");
	read_path(&seg, ret);
	if (ret->is_resource)
		choose_verb(method, watch, ret);
	return 0;
}

void
info_done(struct info *info)
{
	free(info->storage);
	info->storage = NULL;
}
