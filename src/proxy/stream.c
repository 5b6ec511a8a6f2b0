/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "proxy/listener.h"
#include "proxy/proxy.h"
#include "proxy/relay.h"
#include "proxy/worker.h"

#define US_PER_MS 1000ULL

static void
free_stream(struct stream *stream)
{
	relay_free(stream->relay);
	free(stream);
}

/* Worker: the last message about a stream. */
static void
free_in_worker(struct worker *worker, void *arg)
{
	(void)worker;
	free_stream(arg);
}

/* Main: the worker is done with it. */
static void
ended(void *arg)
{
	struct stream *stream = arg;
	struct proxy *proxy = stream->proxy;
	const struct failure *failure =
		stream->failure.reason == REASON_NONE ? NULL : &stream->failure;

	proxy->n_streams--;
	proxy->streams_ended++;
	counters_add_to(&stream->counters, &proxy->ended);
	if (stream->listener)
		listener_stream_ended(stream->listener, stream, failure);
	else
		TAILQ_REMOVE(&proxy->loose, stream, entry);
	loop_timer_free(stream->deadline);
	/* An abort may still be on its way; freeing must come behind it. */
	if (stream->aborted)
		worker_post(stream->worker, free_in_worker, stream);
	else
		free_stream(stream);
	proxy_check_idle(proxy);
}

/* Worker: both directions have ended, or it was cut. */
static void
relay_done(const struct failure *failure, void *arg)
{
	struct stream *stream = arg;

	if (failure)
		stream->failure = *failure;
	loop_post(stream->proxy->loop, ended, stream);
}

static void
start_in_worker(struct worker *worker, void *arg)
{
	struct stream *stream = arg;

	relay_start(stream->relay, worker_loop(worker), worker_pool(worker),
		    worker_turns(worker));
}

void
stream_start(const struct stream_config *config)
{
	struct listener *listener = config->listener;
	struct proxy *proxy = listener->proxy;
	struct stream *stream = xmalloc0(sizeof(*stream));

	*stream = (struct stream){
		.proxy = proxy,
		.listener = listener,
		.id = ++proxy->next_id,
		.channel = config->channel,
		.cipher = config->cipher,
		.started_ms = loop_now_ms(),
		.worker = workers_next(proxy->workers),
	};
	(void)snprintf(stream->peer, sizeof(stream->peer), "%s", config->peer);
	stream->relay = relay_new(&(struct relay_config){
		.local_fd = config->local_fd,
		.net_fd = config->link.fd,
		.ktls = proxy->options.ktls,
		.tls = config->link.tls,
		.limit = listener->limit,
		/* libvirt's keepalive must not starve behind memory. */
		.urgent = config->channel == CHANNEL_CONTROL,
		.peer_timeout_ms = proxy->options.peer_timeout_ms,
		.head = config->link.head,
		.head_len = config->link.head_len,
		.counters = &stream->counters,
		.done = relay_done,
		.arg = stream,
	});
	free(config->link.head);
	proxy->n_streams++;
	listener_stream_started(listener, stream);
	worker_post(stream->worker, start_in_worker, stream);
}

struct abort_message {
	struct stream *stream;
	struct failure why;
};

static void
abort_in_worker(struct worker *worker, void *arg)
{
	struct abort_message *message = arg;

	(void)worker;
	relay_abort(message->stream->relay, &message->why);
	free(message);
}

void
stream_abort(struct stream *stream, const struct failure *why)
{
	struct abort_message *message;

	if (stream->aborted)
		return;
	stream->aborted = true;
	message = xmalloc0(sizeof(*message));
	*message = (struct abort_message){ .stream = stream, .why = *why };
	worker_post(stream->worker, abort_in_worker, message);
}

static void
released_late(void *arg)
{
	struct failure late;

	failure_set(&late, REASON_STOPPED,
		    "the stream has not ended in time after its listener");
	stream_abort(arg, &late);
}

void
stream_release(struct stream *stream)
{
	struct proxy *proxy = stream->proxy;

	TAILQ_REMOVE(&stream->listener->streams, stream, entry);
	TAILQ_INSERT_TAIL(&proxy->loose, stream, entry);
	stream->listener = NULL;
	stream->deadline = loop_timer_new(proxy->loop, released_late, stream);
	loop_timer_start(stream->deadline, STREAM_RELEASED_MS * US_PER_MS);
}

json_t *
stream_describe(const struct stream *stream)
{
	struct counts counts = { 0 };
	json_t *all;

	counters_add_to(&stream->counters, &counts);
	all = counts_describe(&counts);
	json_object_set_new(all, "id", json_integer((json_int_t)stream->id));
	json_object_set_new(all, "channel",
			    json_integer(channel_port(stream->channel)));
	json_object_set_new(all, "name",
			    json_string(channel_name(stream->channel)));
	json_object_set_new(all, "peer", json_string(stream->peer));
	json_object_set_new(all, "cipher", json_string(stream->cipher));
	json_object_set_new(
		all, "ageMs",
		json_integer((json_int_t)(loop_now_ms() - stream->started_ms)));
	return all;
}
