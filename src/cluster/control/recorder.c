/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/recorder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "meta/time.h"

/* An Event's message, at most; longer ones are cut, as by Kubernetes. */
#define MESSAGE_MAX 1024

/* An Event that was written, in the order of their last use. */
struct entry {
	struct map_node node;
	struct entry *next, *prev;
	char *key;
	char *path;
	int64_t count;
	uint64_t written_ms;
};

struct recorder {
	struct api *api;
	const char *component;
	struct map entries;
	struct entry *newest, *oldest;
};

struct recorder *
recorder_new(struct api *api, const char *component)
{
	struct recorder *r = xmalloc0(sizeof(*r));

	r->api = api;
	r->component = component;
	return r;
}

static void
unlink_entry(struct recorder *r, struct entry *e)
{
	if (e->prev != NULL)
		e->prev->next = e->next;
	else
		r->newest = e->next;
	if (e->next != NULL)
		e->next->prev = e->prev;
	else
		r->oldest = e->prev;
}

static void
link_newest(struct recorder *r, struct entry *e)
{
	e->prev = NULL;
	e->next = r->newest;
	if (e->next != NULL)
		e->next->prev = e;
	else
		r->oldest = e;
	r->newest = e;
}

static void
drop(struct recorder *r, struct entry *e)
{
	unlink_entry(r, e);
	map_remove(&r->entries, &e->node);
	free(e->key);
	free(e->path);
	free(e);
}

void
recorder_free(struct recorder *r)
{
	if (r == NULL)
		return;
	while (r->newest != NULL)
		drop(r, r->newest);
	map_done(&r->entries);
	free(r);
}

static const char *
namespace_of(const struct recorder_ref *ref)
{
	return *ref->ns == '\0' ? "default" : ref->ns;
}

static json_t *
event_json(const struct recorder *r, const struct recorder_ref *ref,
	   const char *name, const char *const what[3])
{
	char now[TIME_TEXT_SIZE];
	json_t *involved = json_pack("{s:s,s:s,s:s,s:s}", "apiVersion",
				     ref->api_version, "kind", ref->kind,
				     "name", ref->name, "uid", ref->uid);

	if (*ref->ns != '\0')
		(void)json_object_set_new(involved, "namespace",
					  json_string(ref->ns));
	(void)time_now_text(now);
	return json_pack("{s:s,s:s,s:{s:s,s:s},s:o,s:s,s:s,s:s,s:{s:s},s:s,s:s,"
			 "s:i,s:s,s:s}",
			 "apiVersion", "v1", "kind", "Event", "metadata",
			 "name", name, "namespace", namespace_of(ref),
			 "involvedObject", involved, "type", what[0], "reason",
			 what[1], "message", what[2], "source", "component",
			 r->component, "firstTimestamp", now, "lastTimestamp",
			 now, "count", 1, "reportingComponent", r->component,
			 "reportingInstance", r->component);
}

static void
create(struct recorder *r, const struct recorder_ref *ref,
       const char *const what[3], char *key)
{
	struct entry *e = xmalloc0(sizeof(*e));
	AUTO(free_ptr)
	char *name = xasprintf("%s.%016" PRIx64, ref->name, loop_now_ns());
	AUTO(free_ptr)
	char *path =
		xasprintf("/api/v1/namespaces/%s/events", namespace_of(ref));

	e->key = key;
	e->count = 1;
	e->written_ms = loop_now_ms();
	e->path = xasprintf("%s/%s", path, name);
	map_put(&r->entries, &e->node, e->key);
	link_newest(r, e);
	if (r->entries.count > RECORDER_KEPT)
		drop(r, r->oldest);
	api_send(r->api, &(struct api_call){
				 .method = "POST",
				 .path = path,
				 .body = event_json(r, ref, name, what),
			 });
}

static void
repeat(struct recorder *r, struct entry *e)
{
	uint64_t now_ms = loop_now_ms();
	char now[TIME_TEXT_SIZE];

	e->count++;
	unlink_entry(r, e);
	link_newest(r, e);
	if (now_ms - e->written_ms < RECORDER_REPEAT_MS)
		return;
	e->written_ms = now_ms;
	api_send(r->api,
		 &(struct api_call){
			 .method = "PATCH",
			 .path = e->path,
			 .body = json_pack("{s:I,s:s}", "count",
					   (json_int_t)e->count,
					   "lastTimestamp", time_now_text(now)),
			 .content_type = API_MERGE,
		 });
}

/* What was cut must not end within a character. */
static void
trim(char *text, size_t len)
{
	while (len > 0 && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
		len--;
	if (len > 0 && (unsigned char)text[len - 1] >= 0xc0)
		len--;
	text[len] = '\0';
}

void
recorder_event(struct recorder *r, const struct recorder_ref *ref,
	       const char *type, const char *reason, const char *fmt, ...)
{
	char message[MESSAGE_MAX];
	const char *what[3] = { type, reason, message };
	struct map_node *node;
	struct entry *e;
	char *key;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	if (len >= (int)sizeof(message))
		trim(message, sizeof(message) - 1);
	key = xasprintf("%s/%s/%s/%s/%s/%s", ref->kind, ref->ns, ref->name,
			ref->uid, reason, message);
	node = map_get(&r->entries, key);
	e = node == NULL ? NULL : MAP_ENTRY(node, struct entry, node);
	if (e != NULL && loop_now_ms() - e->written_ms < RECORDER_RENEW_MS) {
		free(key);
		repeat(r, e);
		return;
	}
	if (e != NULL)
		drop(r, e);
	create(r, ref, what, key);
}
