/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "proxy/limit.h"
#include "proxy/opener.h"

#define US_PER_MS 1000ULL

/* What differs between the sides. */
static const struct side_ops {
	int (*open)(struct listener *listener, struct err *err);
	void (*accept)(struct port *port);
} sides[SIDE_COUNT] = {
	[SIDE_TARGET] = { target_open, target_accept },
	[SIDE_SOURCE] = { source_open, source_accept },
};

bool
listener_accepting(const struct listener *listener)
{
	const struct proxy_options *options = &listener->proxy->options;
	bool setting_up = listener->spec.side == SIDE_SOURCE &&
			  listener->n_conns >= options->max_handshakes;

	return !setting_up && listener->n_conns + listener->n_streams <
				      options->max_connections;
}

void
listener_update_accept(struct listener *listener)
{
	unsigned events = listener_accepting(listener) ? LOOP_READ : 0;

	for (size_t i = 0; i < listener->n_ports; i++) {
		struct port *port = &listener->port[i];

		if (port->io && !loop_timer_running(port->pause))
			loop_io_want(port->io, events);
	}
}

static void
pause_over(void *arg)
{
	struct port *port = arg;

	listener_update_accept(port->listener);
}

void
listener_accept_error(struct port *port, int error)
{
	struct log_field ref[LISTENER_REF_FIELDS];

	/* The client went away, or there was none: nothing to do. */
	if (error == EAGAIN || error == EINTR || error == ECONNABORTED)
		return;
	listener_ref(port->listener, port->channel, NULL, NULL, ref);
	log_warning(ref, "cannot accept a connection, pausing: %s",
		    strerror(error));
	loop_io_want(port->io, 0);
	loop_timer_start(port->pause, LISTENER_PAUSE_MS * US_PER_MS);
}

static void
acceptable(unsigned ready, void *arg)
{
	struct port *port = arg;

	(void)ready;
	sides[port->listener->spec.side].accept(port);
}

static void
init_port(struct listener *listener, struct port *port)
{
	port->listener = listener;
	port->fd = -1;
	port->endpoint = ENDPOINT_NONE;
	TAILQ_INIT(&port->turn);
}

int
listener_new(struct proxy *proxy, struct spec *spec,
	     struct listener **ret_listener, struct err *err)
{
	struct listener *listener = xmalloc0(sizeof(*listener));

	listener->proxy = proxy;
	listener->spec = *spec;
	*spec = (struct spec){ .dir.fd = -1, .control_dir.fd = -1 };
	listener->started_ms = loop_now_ms();
	TAILQ_INIT(&listener->conns);
	TAILQ_INIT(&listener->streams);
	for (int i = 0; i < CHANNEL_COUNT; i++)
		init_port(listener, &listener->port[i]);
	listener->limit = limit_new(listener->spec.bandwidth);

	if (sides[listener->spec.side].open(listener, err) == -1) {
		listener_free(listener, true);
		return -1;
	}
	for (size_t i = 0; i < listener->n_ports; i++) {
		struct port *port = &listener->port[i];

		port->io = loop_io_new(proxy->loop, port->fd, acceptable, port);
		port->pause = loop_timer_new(proxy->loop, pause_over, port);
	}
	listener_update_accept(listener);
	*ret_listener = listener;
	return 0;
}

static void
close_port(struct port *port)
{
	struct listener *listener = port->listener;
	char name[CHANNEL_NAME_SIZE];
	struct err err;

	loop_io_free(port->io);
	loop_timer_free(port->pause);
	if (port->fd == -1)
		return;
	if (listener->spec.side == SIDE_SOURCE) {
		channel_socket_name(listener->spec.key, port->channel, name);
		if (opener_unlink(listener->proxy->opener,
				  listener->spec.dir.fd, name, &port->endpoint,
				  &err) == -1)
			log_warning(NULL, "socket '%s' stays, ignoring: %s",
				    name, err.text);
	}
	close_fd(&port->fd);
}

void
listener_free(struct listener *listener, bool cut)
{
	struct failure stopped;
	struct stream *stream;

	failure_set(&stopped, REASON_STOPPED, "the listener was stopped");
	for (size_t i = 0; i < CHANNEL_COUNT; i++)
		close_port(&listener->port[i]);
	while (!TAILQ_EMPTY(&listener->conns))
		conn_free(TAILQ_FIRST(&listener->conns));
	while ((stream = TAILQ_FIRST(&listener->streams)) != NULL) {
		stream_release(stream);
		if (cut)
			stream_abort(stream, &stopped);
	}
	limit_unref(listener->limit);
	spec_done(&listener->spec);
	free(listener);
}

void
listener_set_bandwidth(struct listener *listener, uint64_t rate)
{
	listener->spec.bandwidth = rate;
	limit_set_rate(listener->limit, rate);
}

void
listener_failed(struct listener *listener, const struct failure *failure)
{
	listener->failures[failure->reason]++;
	listener->proxy->failures[failure->reason]++;
	listener->last_failure = *failure;
	listener->last_failure_ms = loop_now_ms();
}

void
listener_ref(const struct listener *listener, enum channel channel,
	     const char *address, const struct failure *failure,
	     struct log_field ref[LISTENER_REF_FIELDS])
{
	const struct log_field fields[LISTENER_REF_FIELDS] = {
		{ "side", side_name(listener->spec.side) },
		{ "key", listener->spec.key },
		{ "channel", channel_name(channel) },
		{ "peer", listener->spec.peer },
		{ "address", address },
		{ "reason", failure ? reason_name(failure->reason) : NULL },
		{ NULL, NULL },
	};

	memcpy(ref, fields, sizeof(fields));
}

void
listener_stream_started(struct listener *listener, struct stream *stream)
{
	struct log_field ref[LISTENER_REF_FIELDS];

	TAILQ_INSERT_TAIL(&listener->streams, stream, entry);
	listener->n_streams++;
	listener_ref(listener, stream->channel, stream->peer, NULL, ref);
	log_info(ref, "stream %llu begins, cipher %s",
		 (unsigned long long)stream->id, stream->cipher);
}

/*
 * A peer that is dead is dead for all: a stream that waits behind a closed
 * window would find out only much later.
 */
static void
abort_siblings(struct listener *listener, const struct failure *failure)
{
	struct stream *stream;

	TAILQ_FOREACH(stream, &listener->streams, entry)
	stream_abort(stream, failure);
}

void
listener_stream_ended(struct listener *listener, struct stream *stream,
		      const struct failure *failure)
{
	struct log_field ref[LISTENER_REF_FIELDS];
	struct counts counts = { 0 };

	TAILQ_REMOVE(&listener->streams, stream, entry);
	listener->n_streams--;
	listener->streams_ended++;
	counters_add_to(&stream->counters, &counts);
	counters_add_to(&stream->counters, &listener->ended);
	listener_ref(listener, stream->channel, stream->peer, failure, ref);
	if (failure) {
		log_warning(ref,
			    "stream %llu broke after %llu bytes out, %llu in:"
			    " %s",
			    (unsigned long long)stream->id,
			    (unsigned long long)counts.sent_bytes,
			    (unsigned long long)counts.received_bytes,
			    failure->text);
	} else {
		log_info(ref, "stream %llu ended after %llu bytes out, %llu in",
			 (unsigned long long)stream->id,
			 (unsigned long long)counts.sent_bytes,
			 (unsigned long long)counts.received_bytes);
	}
	if (failure) {
		listener_failed(listener, failure);
		if (failure->reason == REASON_PEER_DEAD)
			abort_siblings(listener, failure);
	}
	listener_update_accept(listener);
}

void
listener_counts(const struct listener *listener, struct counts *sum)
{
	const struct stream *stream;

	*sum = listener->ended;
	TAILQ_FOREACH(stream, &listener->streams, entry)
	counters_add_to(&stream->counters, sum);
}

static json_t *
target_result(const struct listener *listener)
{
	json_t *ports = json_object();
	char text[BINDADDR_TEXT_SIZE], port[8];

	for (size_t i = 0; i < listener->n_ports; i++) {
		(void)snprintf(port, sizeof(port), "%u",
			       listener->port[i].tcp_port);
		json_object_set_new(
			ports, port,
			json_integer(channel_port(listener->port[i].channel)));
	}
	return json_pack("{s:s, s:o}", "address",
			 bindaddr_format(&listener->address, text), "ports",
			 ports);
}

static json_t *
source_result(const struct listener *listener)
{
	const struct spec *spec = &listener->spec;
	json_t *sockets = json_object();
	char name[CHANNEL_NAME_SIZE], channel[8];

	for (size_t i = 0; i < listener->n_ports; i++) {
		enum channel which = listener->port[i].channel;

		channel_socket_name(spec->key, which, name);
		(void)snprintf(channel, sizeof(channel), "%u",
			       channel_port(which));
		json_object_set_new(
			sockets, channel,
			spec->dir.path
				? json_sprintf("%s/%s", spec->dir.path, name)
				: json_string(name));
	}
	return json_pack("{s:o}", "sockets", sockets);
}

json_t *
listener_result(const struct listener *listener)
{
	return listener->spec.side == SIDE_TARGET ? target_result(listener)
						  : source_result(listener);
}

static json_t *
describe_last_failure(const struct listener *listener)
{
	if (listener->last_failure_ms == 0)
		return json_null();
	return json_pack(
		"{s:s, s:s, s:I}", "reason",
		reason_name(listener->last_failure.reason), "message",
		listener->last_failure.text, "agoMs",
		(json_int_t)(loop_now_ms() - listener->last_failure_ms));
}

json_t *
listener_describe_counters(const struct listener *listener)
{
	json_t *streams = json_array();
	const struct stream *stream;
	struct counts counts;
	json_t *all;

	listener_counts(listener, &counts);
	TAILQ_FOREACH(stream, &listener->streams, entry)
	json_array_append_new(streams, stream_describe(stream));
	all = counts_describe(&counts);
	json_object_set_new(all, "side",
			    json_string(side_name(listener->spec.side)));
	json_object_set_new(all, "key", json_string(listener->spec.key));
	json_object_set_new(all, "ageMs",
			    json_integer((json_int_t)(loop_now_ms() -
						      listener->started_ms)));
	json_object_set_new(all, "connecting",
			    json_integer((json_int_t)listener->n_conns));
	json_object_set_new(all, "streamsEnded",
			    json_integer((json_int_t)listener->streams_ended));
	json_object_set_new(all, "streams", streams);
	json_object_set_new(all, "failures",
			    failures_describe(listener->failures));
	json_object_set_new(all, "lastFailure",
			    describe_last_failure(listener));
	return all;
}

json_t *
listener_describe(const struct listener *listener)
{
	json_t *all = listener_describe_counters(listener);
	json_t *spec = spec_describe(&listener->spec);
	json_t *result = listener_result(listener);

	json_object_update(all, spec);
	json_object_update(all, result);
	json_decref(spec);
	json_decref(result);
	return all;
}
