/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/reads.h"

#include <assert.h>

#define STATUS_NOT_FOUND 404

static void
answered(const struct kube_result *result, void *arg)
{
	struct reads_item *item = arg;
	struct reads *reads = item->reads;
	json_t *status;

	item->call = NULL;
	item->code = result->code;
	if (result->status->code == 0) {
		item->answer = json_incref(result->answer);
	} else {
		status = status_json(result->status);
		(void)status_from_json(&item->status, status,
				       result->status->code);
		json_decref(status);
	}
	if (--reads->open == 0 && reads->done != NULL)
		reads->done(reads->arg);
}

size_t
reads_send(struct reads *reads, struct kube_client *client,
	   const struct kube_request *request)
{
	struct reads_item *item = &reads->items[reads->count];

	assert(reads->count < READS_MAX);
	*item = (struct reads_item){ .reads = reads };
	reads->open++;
	item->call = kube_send(client, request, answered, item);
	return reads->count++;
}

void
reads_wait(struct reads *reads, void (*done)(void *arg), void *arg)
{
	assert(reads->open > 0);
	reads->done = done;
	reads->arg = arg;
}

const json_t *
reads_answer(const struct reads *reads, size_t place)
{
	return reads->items[place].answer;
}

bool
reads_is_missing(const struct reads *reads, size_t place)
{
	return reads->items[place].code == STATUS_NOT_FOUND;
}

void
reads_done(struct reads *reads)
{
	for (size_t i = 0; i < reads->count; i++) {
		struct reads_item *item = &reads->items[i];

		kube_cancel(item->call);
		json_decref(item->answer);
		status_done(&item->status);
	}
	*reads = (struct reads){ 0 };
}
