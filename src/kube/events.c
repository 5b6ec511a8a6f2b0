/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/events.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "meta/names.h"
#include "meta/time.h"

#define US_PER_MS UINT64_C(1000)
#define WRITE_TIMEOUT_MS 10000
#define SUFFIX_LEN 17 /* a dot and 16 digits */
#define COMBINED "(combined from similar events): "

/*
 * What is remembered: an Event that was written, how many there were that
 * differ in the message only, or the budget of an object. The key tells.
 */
struct memo {
	struct map_node node;
	TAILQ_ENTRY(memo) entry; /* last used first */
	TAILQ_ENTRY(memo) dirty_entry;
	char *key;
	/* An Event. */
	char *path;
	char *message; /* to be written; NULL: as it was */
	int64_t count;
	int64_t seen_us; /* the last of them */
	uint64_t written_ms;
	bool dirty;
	/* Similar ones. */
	unsigned messages;
	uint64_t since_ms;
	/* A budget. */
	double tokens;
	uint64_t tokens_ms;
};

TAILQ_HEAD(memos, memo);

/* A write that has not been answered. */
struct sent {
	TAILQ_ENTRY(sent) entry;
	struct events *events;
	struct kube_call *call;
	char *path; /* of the Event */
};

struct events {
	struct loop *loop;
	char *component;
	void (*write)(const struct events_write *write, void *arg);
	void *arg;
	unsigned repeat_ms;
	struct map map;
	struct memos order;
	struct memos dirty; /* counts that are to be written */
	TAILQ_HEAD(, sent) sent;
	struct kube_client *client; /* NULL: whoever made it writes */
	struct loop_timer *timer;
	struct events_stats stats;
};

static void flush(void *arg);

struct events *
events_new(const struct events_config *config)
{
	struct events *e = xmalloc0(sizeof(*e));

	e->loop = config->loop;
	e->component = xstrdup(config->component);
	e->write = config->write;
	e->arg = config->arg;
	e->repeat_ms =
		config->repeat_ms != 0 ? config->repeat_ms : EVENTS_REPEAT_MS;
	TAILQ_INIT(&e->order);
	TAILQ_INIT(&e->dirty);
	TAILQ_INIT(&e->sent);
	e->timer = loop_timer_new(e->loop, flush, e);
	return e;
}

static void
sent_free(struct sent *sent)
{
	TAILQ_REMOVE(&sent->events->sent, sent, entry);
	kube_cancel(sent->call);
	free(sent->path);
	free(sent);
}

static void
on_written(const struct kube_result *result, void *arg)
{
	struct sent *sent = arg;

	sent->call = NULL;
	if (result->status->code != 0)
		events_lost(sent->events, sent->path);
	sent_free(sent);
}

static void
write_by_client(const struct events_write *write, void *arg)
{
	struct events *e = arg;
	struct sent *sent = xmalloc0(sizeof(*sent));
	struct kube_request request = {
		.verb = str_equal(write->method, "POST") ? KUBE_CREATE
							 : KUBE_PATCH_MERGE,
		.path = write->path,
		.body = write->body,
		.timeout_ms = WRITE_TIMEOUT_MS,
	};

	sent->events = e;
	sent->path = xstrdup(write->event_path);
	TAILQ_INSERT_TAIL(&e->sent, sent, entry);
	sent->call = kube_send(e->client, &request, on_written, sent);
}

struct events *
events_new_for(struct kube_client *client, const char *component)
{
	struct events_config config = {
		.loop = kube_client_loop(client),
		.component = component,
		.write = write_by_client,
	};
	struct events *e = events_new(&config);

	e->arg = e;
	e->client = client;
	return e;
}

static void
drop(struct events *e, struct memo *m)
{
	if (m->dirty)
		TAILQ_REMOVE(&e->dirty, m, dirty_entry);
	TAILQ_REMOVE(&e->order, m, entry);
	map_remove(&e->map, &m->node);
	free(m->key);
	free(m->path);
	free(m->message);
	free(m);
}

void
events_free(struct events *e)
{
	struct memo *m;

	if (e == NULL)
		return;
	while (!TAILQ_EMPTY(&e->sent))
		sent_free(TAILQ_FIRST(&e->sent));
	while ((m = TAILQ_FIRST(&e->order)) != NULL)
		drop(e, m);
	map_done(&e->map);
	loop_timer_free(e->timer);
	free(e->component);
	free(e);
}

void
events_lost(struct events *e, const char *event_path)
{
	struct memo *m;

	TAILQ_FOREACH(m, &e->order, entry)
	{
		if (m->path == NULL || !str_equal(m->path, event_path))
			continue;
		drop(e, m);
		e->stats.lost++;
		return;
	}
}

const struct events_stats *
events_stats(const struct events *e)
{
	return &e->stats;
}

/* What is remembered under a key, which is taken; a new one is empty. */
static struct memo *
recall(struct events *e, char *key)
{
	struct map_node *node = map_get(&e->map, key);
	struct memo *m;

	if (node != NULL) {
		m = MAP_ENTRY(node, struct memo, node);
		free(key);
		TAILQ_REMOVE(&e->order, m, entry);
	} else {
		/* Those in use now were used last, and are not dropped. */
		if (e->map.count >= EVENTS_KEPT)
			drop(e, TAILQ_LAST(&e->order, memos));
		m = xmalloc0(sizeof(*m));
		m->key = key;
		map_put(&e->map, &m->node, m->key);
	}
	TAILQ_INSERT_HEAD(&e->order, m, entry);
	return m;
}

static const char *
namespace_of(const struct events_ref *ref)
{
	return *ref->ns == '\0' ? "default" : ref->ns;
}

/* Whether the object may cause one more write. */
static bool
spend(struct events *e, struct memo *budget)
{
	uint64_t now = loop_now_ms();

	if (budget->tokens_ms == 0)
		budget->tokens = EVENTS_BURST;
	else
		budget->tokens +=
			(double)(now - budget->tokens_ms) / EVENTS_REFILL_MS;
	if (budget->tokens > EVENTS_BURST)
		budget->tokens = EVENTS_BURST;
	budget->tokens_ms = now;
	if (budget->tokens < 1) {
		e->stats.dropped++;
		return false;
	}
	budget->tokens -= 1;
	return true;
}

static json_t *
event_json(const struct events *e, const struct events_ref *ref,
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
			 e->component, "firstTimestamp", now, "lastTimestamp",
			 now, "count", 1, "reportingComponent", e->component,
			 "reportingInstance", e->component);
}

static void
create(struct events *e, struct memo *m, const struct events_ref *ref,
       const char *const what[3])
{
	/* Different for each, and never longer than a name may be. */
	AUTO(free_ptr)
	char *name = xasprintf(
		"%.*s.%016" PRIx64, NAME_SUBDOMAIN_MAX - SUFFIX_LEN, ref->name,
		(uint64_t)time_now_us() * 1000 + e->stats.written % 1000);
	AUTO(free_ptr)
	char *path =
		xasprintf("/api/v1/namespaces/%s/events", namespace_of(ref));
	AUTO(js_unref) json_t *body = event_json(e, ref, name, what);
	struct events_write write = { "POST", path, NULL, body };

	free(m->path);
	m->path = xasprintf("%s/%s", path, name);
	write.event_path = m->path;
	m->count = 1;
	m->written_ms = loop_now_ms();
	e->stats.written++;
	e->write(&write, e->arg);
}

static void
write_count(struct events *e, struct memo *m)
{
	char seen[TIME_TEXT_SIZE];
	AUTO(js_unref)
	json_t *body = json_pack("{s:I,s:s}", "count", (json_int_t)m->count,
				 "lastTimestamp", time_text(m->seen_us, seen));
	struct events_write write = { "PATCH", m->path, m->path, body };

	if (m->message != NULL)
		(void)json_object_set_new(body, "message",
					  json_string(m->message));
	free(m->message);
	m->message = NULL;
	m->written_ms = loop_now_ms();
	if (m->dirty)
		TAILQ_REMOVE(&e->dirty, m, dirty_entry);
	m->dirty = false;
	e->stats.written++;
	e->write(&write, e->arg);
}

/* Writes the counts whose time has come. */
static void
flush(void *arg)
{
	struct events *e = arg;
	uint64_t now = loop_now_ms();
	uint64_t next = UINT64_MAX;
	struct memo *following;

	for (struct memo *m = TAILQ_FIRST(&e->dirty); m != NULL;
	     m = following) {
		uint64_t due = m->written_ms + e->repeat_ms;

		following = TAILQ_NEXT(m, dirty_entry);
		if (due <= now)
			write_count(e, m);
		else if (due < next)
			next = due;
	}
	if (next != UINT64_MAX)
		loop_timer_start(e->timer, (next - now) * US_PER_MS);
}

/* message: NULL, or the text that it has now. */
static void
repeat(struct events *e, struct memo *m, struct memo *budget,
       const char *message)
{
	uint64_t since = loop_now_ms() - m->written_ms;

	m->count++;
	m->seen_us = time_now_us();
	if (message != NULL) {
		free(m->message);
		m->message = xstrdup(message);
	}
	if (since >= e->repeat_ms) {
		if (m->dirty || spend(e, budget))
			write_count(e, m);
		return;
	}
	/* What is written later is paid for now. */
	if (m->dirty || !spend(e, budget))
		return;
	m->dirty = true;
	TAILQ_INSERT_TAIL(&e->dirty, m, dirty_entry);
	if (!loop_timer_running(e->timer))
		loop_timer_start(e->timer, (e->repeat_ms - since) * US_PER_MS);
}

/* Whether there are too many messages that differ in nothing else. */
static bool
is_one_of_many(struct memo *similar, bool is_new)
{
	uint64_t now = loop_now_ms();

	if (similar->since_ms == 0 ||
	    now - similar->since_ms > EVENTS_SIMILAR_MS) {
		similar->since_ms = now;
		similar->messages = 0;
	}
	if (is_new && similar->messages < EVENTS_SIMILAR_MAX) {
		similar->messages++;
		return false;
	}
	return is_new;
}

static bool
is_known(const struct memo *m)
{
	return m->path != NULL &&
	       loop_now_ms() - m->written_ms < EVENTS_RENEW_MS;
}

static void
record(struct events *e, const struct events_ref *ref,
       const char *const what[3])
{
	AUTO(free_ptr)
	char *object = xasprintf("%s/%s/%s/%s", ref->kind, ref->ns, ref->name,
				 ref->uid);
	char *key = xasprintf("event %s/%s/%s/%s", object, what[0], what[1],
			      what[2]);
	struct memo *budget = recall(e, xasprintf("budget %s", object));
	struct memo *similar = recall(
		e, xasprintf("similar %s/%s/%s", object, what[0], what[1]));
	bool is_new = map_get(&e->map, key) == NULL;
	AUTO(free_ptr) char *combined = NULL;
	const char *texts[3] = { what[0], what[1], what[2] };
	struct memo *m;

	if (is_one_of_many(similar, is_new)) {
		e->stats.combined++;
		free(key);
		key = xasprintf("combined %s/%s/%s", object, what[0], what[1]);
		combined = xasprintf(COMBINED "%s", what[2]);
		texts[2] = combined;
	}
	m = recall(e, key);
	if (is_known(m))
		repeat(e, m, budget, combined);
	else if (spend(e, budget))
		create(e, m, ref, texts);
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
events_emit(struct events *e, const struct events_ref *ref, const char *type,
	    const char *reason, const char *fmt, ...)
{
	/* With what may come before it, it is within Kubernetes' limit. */
	char message[EVENTS_MESSAGE_MAX - sizeof(COMBINED)];
	const char *what[3] = { type, reason, message };
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	if (len >= (int)sizeof(message))
		trim(message, sizeof(message) - 1);
	e->stats.emitted++;
	record(e, ref, what);
}
