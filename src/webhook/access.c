/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/access.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/client.h"

#define REVIEWS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

struct entry {
	struct map_node node; /* by key */
	char *key;
	bool allowed;
	char *reason;
	uint64_t until_ms;
};

struct access {
	struct kube_client *client;
	struct map map;
	struct entry *ring[ACCESS_ENTRIES_MAX]; /* in order of arrival */
	size_t next;
};

struct access_wait {
	struct access *access;
	struct kube_call *call;
	char *key;
	void (*done)(enum access_answer answer, const char *text, void *arg);
	void *arg;
};

struct access *
access_new(struct kube_client *client)
{
	struct access *access = xmalloc0(sizeof(*access));

	access->client = client;
	return access;
}

static void
forget(struct access *access, struct entry *entry)
{
	if (entry == NULL)
		return;
	map_remove(&access->map, &entry->node);
	free(entry->key);
	free(entry->reason);
	free(entry);
}

void
access_free(struct access *access)
{
	if (access == NULL)
		return;
	for (size_t i = 0; i < ACCESS_ENTRIES_MAX; i++)
		forget(access, access->ring[i]);
	map_done(&access->map);
	free(access);
}

static void
remember(struct access *access, const char *key, bool allowed,
	 const char *reason)
{
	struct map_node *node = map_get(&access->map, key);
	struct entry *entry;

	if (node != NULL) {
		entry = MAP_ENTRY(node, struct entry, node);
		free(entry->reason);
	} else {
		entry = xmalloc0(sizeof(*entry));
		forget(access, access->ring[access->next]);
		access->ring[access->next] = entry;
		access->next = (access->next + 1) % ACCESS_ENTRIES_MAX;
		entry->key = xstrdup(key);
		map_put(&access->map, &entry->node, entry->key);
	}
	entry->allowed = allowed;
	entry->reason = xstrdup(reason);
	entry->until_ms = loop_now_ms() + ACCESS_LIFE_MS;
}

static json_t *
review_of(const struct access_question *q)
{
	json_t *spec = json_deep_copy(q->user);
	json_t *attributes =
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "verb",
			  q->verb, "group", q->group, "version", q->version,
			  "resource", q->resource, "subresource",
			  q->subresource, "namespace", q->ns, "name", q->name);

	(void)json_object_set_new(spec, "resourceAttributes", attributes);
	return json_pack("{s:s, s:s, s:o}", "apiVersion",
			 "authorization.k8s.io/v1", "kind",
			 "SubjectAccessReview", "spec", spec);
}

static void
answered(const struct kube_result *result, void *arg)
{
	struct access_wait *wait = arg;
	const json_t *status = js_obj_at(result->answer, "status");
	enum access_answer answer = ACCESS_FAILED;
	const char *text = "the review has no answer";

	wait->call = NULL;
	if (result->status->code != 0) {
		text = result->status->message;
	} else if (status != NULL) {
		text = js_str_at(status, "reason");
		answer = js_bool_at(status, "allowed", false) ? ACCESS_ALLOWED
							      : ACCESS_DENIED;
		remember(wait->access, wait->key, answer == ACCESS_ALLOWED,
			 text);
	}
	wait->done(answer, text, wait->arg);
	access_cancel(wait);
}

struct access_wait *
access_ask(struct access *access, const struct access_question *question,
	   void (*done)(enum access_answer answer, const char *text, void *arg),
	   void *arg)
{
	AUTO(js_unref) json_t *review = review_of(question);
	/* The whole question: nothing can be mistaken for something else. */
	AUTO(free_ptr) char *key = js_text_sorted(review, NULL);
	struct map_node *node = map_get(&access->map, key);
	const struct kube_request request = {
		.verb = KUBE_CREATE,
		.path = REVIEWS,
		.body = review,
		.repeatable = true,
		.timeout_ms = ACCESS_TIMEOUT_MS,
	};
	struct access_wait *wait;

	if (node != NULL) {
		const struct entry *entry = MAP_ENTRY(node, struct entry, node);

		if (loop_now_ms() < entry->until_ms) {
			done(entry->allowed ? ACCESS_ALLOWED : ACCESS_DENIED,
			     entry->reason, arg);
			return NULL;
		}
	}
	wait = xmalloc0(sizeof(*wait));
	wait->access = access;
	wait->key = TAKE_PTR(key);
	wait->done = done;
	wait->arg = arg;
	wait->call = kube_send(access->client, &request, answered, wait);
	return wait;
}

void
access_cancel(struct access_wait *wait)
{
	if (wait == NULL)
		return;
	kube_cancel(wait->call);
	free(wait->key);
	free(wait);
}
