/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/control.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "proxy/bindaddr.h"
#include "proxy/creds.h"
#include "proxy/listener.h"
#include "proxy/metrics.h"
#include "proxy/proxy.h"
#include "proxy/sandbox.h"

/* Methods without parameters take none, or an empty object. */
static int
no_params(const json_t *params, struct err *err)
{
	static const char *const none[] = { NULL };

	if (params == NULL)
		return 0;
	return js_only(params, none, err);
}

static int
start(struct control *control, enum side side, const json_t *params,
      struct rpc_fds *fds, json_t **ret_result, struct err *err)
{
	struct listener *listener;
	struct spec spec;

	if (spec_decode(side, params, fds, &spec, err) == -1 ||
	    proxy_start(control->proxy, &spec, &listener, err) == -1)
		return -1;
	*ret_result = listener_result(listener);
	return 0;
}

static int
target_start(void *ctx, const json_t *params, struct rpc_fds *fds,
	     json_t **ret_result, struct err *err)
{
	return start(ctx, SIDE_TARGET, params, fds, ret_result, err);
}

static int
source_start(void *ctx, const json_t *params, struct rpc_fds *fds,
	     json_t **ret_result, struct err *err)
{
	return start(ctx, SIDE_SOURCE, params, fds, ret_result, err);
}

static int
stop(struct control *control, enum side side, const json_t *params,
     json_t **ret_result, struct err *err)
{
	static const char *const members[] = { "key", "finish", NULL };
	bool finish = false;
	const char *key;

	if (js_only(params, members, err) == -1 ||
	    js_get_str(params, "key", &key, err) == -1 ||
	    js_opt_bool(params, "finish", &finish, err) == -1 ||
	    proxy_stop(control->proxy, side, key, !finish, err) == -1)
		return -1;
	*ret_result = json_object();
	return 0;
}

static int
target_stop(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	(void)fds;
	return stop(ctx, SIDE_TARGET, params, ret_result, err);
}

static int
source_stop(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	(void)fds;
	return stop(ctx, SIDE_SOURCE, params, ret_result, err);
}

static json_t *
describe_side(const struct proxy *proxy, enum side side)
{
	const struct listener *listener;
	json_t *all = json_array();

	TAILQ_FOREACH(listener, &proxy->listeners, entry)
	{
		if (listener->spec.side == side)
			json_array_append_new(all, listener_describe(listener));
	}
	return all;
}

static int
list(struct control *control, enum side side, const json_t *params,
     json_t **ret_result, struct err *err)
{
	if (no_params(params, err) == -1)
		return -1;
	*ret_result = describe_side(control->proxy, side);
	return 0;
}

static int
target_list(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	(void)fds;
	return list(ctx, SIDE_TARGET, params, ret_result, err);
}

static int
source_list(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	(void)fds;
	return list(ctx, SIDE_SOURCE, params, ret_result, err);
}

/* Changes the limit of a running migration; its streams go on. */
static int
bandwidth_set(void *ctx, const json_t *params, struct rpc_fds *fds,
	      json_t **ret_result, struct err *err)
{
	static const char *const members[] = { "side", "key", "bandwidth",
					       NULL };
	struct control *control = ctx;
	struct listener *listener;
	const char *side_text, *key;
	enum side side;
	uint64_t rate;

	(void)fds;
	if (js_only(params, members, err) == -1 ||
	    js_get_str(params, "side", &side_text, err) == -1 ||
	    js_get_str(params, "key", &key, err) == -1 ||
	    js_get_u64(params, "bandwidth", 0, SPEC_BANDWIDTH_MAX, &rate,
		       err) == -1 ||
	    side_from_name(side_text, &side, err) == -1)
		return -1;
	listener = proxy_find(control->proxy, side, key);
	if (listener == NULL)
		return err_set(err, ERR_NOT_FOUND, "no %s listener '%s'",
			       side_text, key);
	listener_set_bandwidth(listener, rate);
	*ret_result = json_object();
	return 0;
}

static const char *
engine_name(const struct proxy_options *options)
{
	if (options->ktls)
		return "ktls";
	return options->engine == TLS_ENGINE_RECORD ? "record" : "libssl";
}

static json_t *
describe_options(const struct proxy_options *options)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:s}", "dialTimeoutMs",
			 (int)options->dial_timeout_ms, "handshakeTimeoutMs",
			 (int)options->handshake_timeout_ms, "peerTimeoutMs",
			 (int)options->peer_timeout_ms, "maxConnections",
			 (int)options->max_connections, "maxHandshakes",
			 (int)options->max_handshakes, "engine",
			 engine_name(options));
}

/* Where a listener would be opened now; the lookup may fail, which is then
 * what is told. */
static json_t *
describe_bind(const struct proxy_options *options)
{
	const char *spec = options->bind == NULL ? "" : options->bind;
	json_t *bind = json_pack("{s:s}", "name", spec[0] == '\0' ? "*" : spec);
	char text[BINDADDR_TEXT_SIZE];
	struct bindaddr address;
	struct err err;

	if (bindaddr_resolve(spec, &address, &err) == -1)
		json_object_set_new(bind, "error", json_string(err.text));
	else
		json_object_set_new(
			bind, "address",
			json_string(bindaddr_format(&address, text)));
	return bind;
}

static int
status(void *ctx, const json_t *params, struct rpc_fds *fds,
       json_t **ret_result, struct err *err)
{
	struct control *control = ctx;
	const struct proxy *proxy = control->proxy;

	(void)fds;
	if (no_params(params, err) == -1)
		return -1;
	*ret_result = json_pack("{s:I, s:b, s:I, s:I, s:o, s:o, s:o, s:o, "
				"s:o}",
				"uptimeMs",
				(json_int_t)(loop_now_ms() - proxy->started_ms),
				"draining", (int)proxy->draining, "listeners",
				(json_int_t)proxy->n_listeners, "streams",
				(json_int_t)proxy->n_streams, "credentials",
				creds_describe(proxy->creds), "bind",
				describe_bind(&proxy->options), "sandbox",
				sandbox_describe(control->sandbox), "options",
				describe_options(&proxy->options), "failures",
				failures_describe(proxy->failures));
	return 0;
}

/* Per process, per migration and per stream. */
static int
counters(void *ctx, const json_t *params, struct rpc_fds *fds,
	 json_t **ret_result, struct err *err)
{
	struct control *control = ctx;
	const struct proxy *proxy = control->proxy;
	const struct listener *listener;
	json_t *migrations = json_array();
	struct counts sum = proxy->ended;

	(void)fds;
	if (no_params(params, err) == -1) {
		json_decref(migrations);
		return -1;
	}
	TAILQ_FOREACH(listener, &proxy->listeners, entry)
	{
		const struct stream *stream;

		TAILQ_FOREACH(stream, &listener->streams, entry)
		counters_add_to(&stream->counters, &sum);
		json_array_append_new(migrations,
				      listener_describe_counters(listener));
	}
	*ret_result = counts_describe(&sum);
	json_object_set_new(*ret_result, "streamsEnded",
			    json_integer((json_int_t)proxy->streams_ended));
	json_object_set_new(*ret_result, "failures",
			    failures_describe(proxy->failures));
	json_object_set_new(*ret_result, "migrations", migrations);
	return 0;
}

static void
free_buf(struct buf *buf)
{
	buf_done(buf);
}

static int
metrics(void *ctx, const json_t *params, struct rpc_fds *fds,
	json_t **ret_result, struct err *err)
{
	struct control *control = ctx;
	AUTO(free_buf) struct buf buf = BUF_INIT(METRICS_MAX);

	(void)fds;
	if (no_params(params, err) == -1)
		return -1;
	if (metrics_write(control->proxy, &buf) == -1)
		return err_set(err, ERR_LIMIT,
			       "the metrics are larger than %lu bytes",
			       METRICS_MAX);
	*ret_result = json_pack("{s:s#}", "text", (const char *)buf.data,
				(int)buf.len);
	return 0;
}

static int
drain(void *ctx, const json_t *params, struct rpc_fds *fds, json_t **ret_result,
      struct err *err)
{
	struct control *control = ctx;
	struct proxy *proxy = control->proxy;

	(void)fds;
	if (no_params(params, err) == -1)
		return -1;
	*ret_result = json_pack("{s:I, s:I}", "listeners",
				(json_int_t)proxy->n_listeners, "streams",
				(json_int_t)proxy->n_streams);
	/* Later: the answer should leave before an idle process does. */
	loop_post(proxy->loop, control->drain, control->drain_arg);
	return 0;
}

static int
reload(void *ctx, const json_t *params, struct rpc_fds *fds,
       json_t **ret_result, struct err *err)
{
	struct control *control = ctx;

	(void)fds;
	if (no_params(params, err) == -1)
		return -1;
	creds_check(control->proxy->creds);
	*ret_result = creds_describe(control->proxy->creds);
	return 0;
}

const struct rpc_method control_methods[] = {
	{ "target.start", target_start },
	{ "target.list", target_list },
	{ "target.stop", target_stop },
	{ "source.start", source_start },
	{ "source.list", source_list },
	{ "source.stop", source_stop },
	{ "bandwidth.set", bandwidth_set },
	{ "status", status },
	{ "counters", counters },
	{ "metrics", metrics },
	{ "reload", reload },
	{ "drain", drain },
};
const size_t control_n_methods = ARRAY_LEN(control_methods);
