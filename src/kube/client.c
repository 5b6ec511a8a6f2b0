/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "kube/client_internal.h"
#include "kube/config.h"
#include "kube/url.h"

#define PAUSE_MIN_MS 100U
#define PAUSE_MAX_MS 5000U
#define SERVER_ERRORS_MAX 3 /* tries of a read that the server fails */
#define US_PER_MS UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S 1e9

enum call_state {
	CALL_WAITING, /* in waiting: for the rate, or others to finish */
	CALL_SENT,    /* in others: fetch is set */
	CALL_PAUSING, /* in others: the timer leads to another try */
};

struct kube_call {
	struct kube_client *client;
	TAILQ_ENTRY(kube_call) entry;
	enum call_state state;
	struct fetch *fetch;
	struct loop_timer *timer; /* the pause, or the deadline in waiting */

	const char *method;
	const char *content_type;
	char *url;
	char *body;
	bool write;
	bool repeatable;
	bool always;
	bool urgent;
	bool throttled;
	bool renewed;  /* tried again after 401 with new credentials */
	bool finished; /* done is being called */
	unsigned tries;
	uint64_t began_ns;
	uint64_t deadline_ms;

	kube_done_fn *done;
	void *arg;
};

static const struct {
	const char *method;
	const char *content_type;
} verbs[] = {
	[KUBE_GET] = { "GET", NULL },
	[KUBE_CREATE] = { "POST", "application/json" },
	[KUBE_UPDATE] = { "PUT", "application/json" },
	[KUBE_PATCH_JSON] = { "PATCH", "application/json-patch+json" },
	[KUBE_PATCH_MERGE] = { "PATCH", "application/merge-patch+json" },
	[KUBE_PATCH_STRATEGIC] = { "PATCH",
				   "application/strategic-merge-patch+json" },
	[KUBE_DELETE] = { "DELETE", "application/json" },
};
_Static_assert(sizeof(verbs) / sizeof(verbs[0]) == KUBE_VERB_COUNT,
	       "each verb has its method");

static void pump(void *arg);
static void on_call_timer(void *arg);

static unsigned
or_default(unsigned value, unsigned otherwise)
{
	return value != 0 ? value : otherwise;
}

struct kube_client *
kube_client_new(const struct kube_client_options *o)
{
	struct kube_client *c = xmalloc0(sizeof(*c));

	c->loop = o->loop;
	c->fetcher = fetcher_new(o->loop);
	c->config = o->config;
	c->user_agent =
		xstrdup(o->user_agent != NULL ? o->user_agent : "ferry");
	c->qps = or_default(o->qps, KUBE_QPS_DEFAULT);
	c->burst = or_default(o->burst, KUBE_BURST_DEFAULT);
	c->in_flight = or_default(o->in_flight, KUBE_IN_FLIGHT_DEFAULT);
	c->timeout_ms = or_default(o->timeout_ms, KUBE_TIMEOUT_MS_DEFAULT);
	c->body_max = o->body_max != 0 ? o->body_max : KUBE_BODY_MAX;
	c->may_write = o->may_write;
	c->may_write_arg = o->may_write_arg;
	c->at_once = o->at_once;
	TAILQ_INIT(&c->waiting);
	TAILQ_INIT(&c->others);
	LIST_INIT(&c->watches);
	c->pump = loop_timer_new(o->loop, pump, c);
	c->tokens = c->burst;
	c->tokens_ns = loop_now_ns();
	return c;
}

static struct kube_calls *
list_of(struct kube_call *call)
{
	return call->state == CALL_WAITING ? &call->client->waiting
					   : &call->client->others;
}

static void
call_free(struct kube_call *call)
{
	TAILQ_REMOVE(list_of(call), call, entry);
	fetch_cancel(call->fetch);
	loop_timer_free(call->timer);
	free(call->url);
	free(call->body);
	free(call);
}

void
kube_client_free(struct kube_client *c)
{
	struct kube_call *call;

	if (c == NULL)
		return;
	while ((call = TAILQ_FIRST(&c->waiting)) != NULL ||
	       (call = TAILQ_FIRST(&c->others)) != NULL)
		call_free(call);
	kube_watches_free(c);
	loop_timer_free(c->pump);
	fetcher_free(c->fetcher);
	kube_config_free(c->config);
	free(c->user_agent);
	free(c);
}

const struct kube_config *
kube_client_config(const struct kube_client *c)
{
	return c->config;
}

struct loop *
kube_client_loop(const struct kube_client *c)
{
	return c->loop;
}

const struct kube_client_stats *
kube_client_stats(const struct kube_client *c)
{
	return &c->stats;
}

void
kube_wire_begin(struct kube_wire *w, struct kube_client *c,
		const char *content_type)
{
	const struct kube_config *config = c->config;
	size_t n = 0;

	(void)kube_config_refresh(c->config, loop_now_ms());
	*w = (struct kube_wire){ 0 };
	w->headers[n++] = (struct fetch_header){ "Accept", "application/json" };
	w->headers[n++] = (struct fetch_header){ "User-Agent", c->user_agent };
	if (content_type != NULL)
		w->headers[n++] =
			(struct fetch_header){ "Content-Type", content_type };
	if (config->token.text != NULL) {
		w->authorization = xasprintf("Bearer %s", config->token.text);
		w->headers[n++] = (struct fetch_header){ "Authorization",
							 w->authorization };
	}
	w->fetch = (struct fetch_request){
		.headers = w->headers,
		.header_count = n,
		.ca_pem = config->ca.text,
		.cert_pem = config->cert.text,
		.key_pem = config->key.text,
		.tls_name = config->tls_name,
		.insecure = config->insecure,
		.share = true,
	};
}

void
kube_wire_done(struct kube_wire *w)
{
	if (w->authorization == NULL)
		return;
	explicit_bzero(w->authorization, strlen(w->authorization));
	free(w->authorization);
}

/* Gives its place in flight to another. */
static void
land(struct kube_call *call)
{
	struct kube_client *c = call->client;

	call->fetch = NULL;
	c->stats.in_flight--;
	if (!TAILQ_EMPTY(&c->waiting))
		loop_timer_start(c->pump, 0);
}

/* Tells how it ended, and frees it. */
static void
finish(struct kube_call *call, struct kube_result *result)
{
	struct kube_client *c = call->client;
	struct kube_client_stats *stats = &c->stats;

	stats->requests++;
	stats->writes += call->write;
	stats->failed += result->status->code != 0;
	stats->conflicts += kube_is_conflict(result);
	stats->unknown += result->unknown;
	timing_add(&stats->latency,
		   (loop_now_ns() - call->began_ns) / US_PER_MS);
	if (call->state == CALL_WAITING)
		stats->waiting--;
	call->finished = true;
	if (call->done != NULL)
		call->done(result, call->arg);
	call_free(call);
}

static void
finish_unsent(struct kube_call *call, int code, const char *reason,
	      const char *text)
{
	struct status st = STATUS_INIT;
	struct kube_result result = { .status = &st };

	(void)status_set(&st, code, reason, "%s", text);
	finish(call, &result);
	status_done(&st);
}

static uint64_t
left_ms(const struct kube_call *call)
{
	uint64_t now = loop_now_ms();

	return now < call->deadline_ms ? call->deadline_ms - now : 0;
}

static void
wait_for_turn(struct kube_call *call)
{
	struct kube_client *c = call->client;

	call->state = CALL_WAITING;
	if (call->urgent)
		TAILQ_INSERT_HEAD(&c->waiting, call, entry);
	else
		TAILQ_INSERT_TAIL(&c->waiting, call, entry);
	c->stats.waiting++;
	loop_timer_start(call->timer, left_ms(call) * US_PER_MS);
	loop_timer_start(c->pump, 0);
}

static void
on_call_timer(void *arg)
{
	struct kube_call *call = arg;

	if (call->state == CALL_PAUSING) {
		TAILQ_REMOVE(&call->client->others, call, entry);
		wait_for_turn(call);
		return;
	}
	finish_unsent(call, 504, "Timeout",
		      "client rate limiter Wait returned an error: context "
		      "deadline exceeded");
}

/* How long until the n-th try; some of it is left to chance, so that those
 * that failed together do not come back together. */
static uint64_t
pause_ms(const struct kube_call *call, unsigned retry_after_s)
{
	uint64_t pause = PAUSE_MIN_MS;

	for (unsigned i = 1; i < call->tries && pause < PAUSE_MAX_MS; i++)
		pause *= 2;
	if (pause > PAUSE_MAX_MS)
		pause = PAUSE_MAX_MS;
	pause += random_below((uint32_t)pause / 2 + 1);
	return retry_after_s != 0 ? retry_after_s * 1000UL + pause / 4 : pause;
}

/* False when there is no time, or it was tried often enough. */
static bool
try_again(struct kube_call *call, unsigned retry_after_s)
{
	uint64_t pause = pause_ms(call, retry_after_s);

	if (call->tries > KUBE_RETRIES_MAX || pause >= left_ms(call))
		return false;
	call->state = CALL_PAUSING;
	loop_timer_start(call->timer, pause * US_PER_MS);
	return true;
}

/* Not a word about what was done: a gateway that lost its server, or a server
 * that lost its store in the middle of it. */
static bool
is_server_error(int code)
{
	return code == 500 || code == 502 || code == 504;
}

/* Webhooks are asked before anything is stored, and one that does not answer is
 * a 500, too. The words are Kubernetes'. */
static bool
is_of_webhook(const struct status *st)
{
	return strstr(st->message, "failed calling webhook") != NULL;
}

/* The server answered with a failure: whether it was told to come again. */
static bool
retry_answer(struct kube_call *call, int code, unsigned retry_after_s)
{
	/* The token may have been replaced a moment ago. */
	if (code == 401 && !call->renewed) {
		call->renewed = true;
		call->client->config->looked_ms = 0;
		if (kube_config_refresh(call->client->config, loop_now_ms()))
			return try_again(call, 0);
	}
	if ((code == 429 || code == 503) && retry_after_s != 0)
		return try_again(call, retry_after_s);
	if (call->repeatable && is_server_error(code) &&
	    call->tries < SERVER_ERRORS_MAX)
		return try_again(call, retry_after_s);
	return false;
}

static bool
retry_failure(struct kube_call *call, enum fetch_error error)
{
	switch (error) {
	case FETCH_REFUSED:
	case FETCH_RESOLVE:
		return !call->client->at_once && try_again(call, 0);
	case FETCH_TIMEOUT:
	case FETCH_OTHER:
		return call->repeatable && try_again(call, 0);
	case FETCH_OK:
	case FETCH_TLS:
	case FETCH_TOO_LARGE:
	case FETCH_ERROR_COUNT:
		break;
	}
	return false;
}

static void
on_failed_answer(struct kube_call *call, const struct fetch_result *r)
{
	struct status st = STATUS_INIT;
	struct kube_result result = { .status = &st, .code = r->code };

	(void)kube_status_of_answer(&st, r->code, r, r->body, r->body_len);
	if (!retry_answer(call, r->code, st.retry_after)) {
		result.unknown = call->write && is_server_error(r->code) &&
				 !is_of_webhook(&st);
		finish(call, &result);
	}
	status_done(&st);
}

static void
on_no_answer(struct kube_call *call, const struct fetch_result *r)
{
	struct status st = STATUS_INIT;
	struct kube_result result = { .status = &st };

	if (retry_failure(call, r->error))
		return;
	(void)kube_status_of_failure(&st, r);
	result.too_large = r->error == FETCH_TOO_LARGE;
	result.unknown = call->write && r->error != FETCH_REFUSED &&
			 r->error != FETCH_RESOLVE && r->error != FETCH_TLS;
	finish(call, &result);
	status_done(&st);
}

static void
on_fetched(const struct fetch_result *r, void *arg)
{
	struct kube_call *call = arg;
	AUTO(js_unref) json_t *answer = NULL;
	struct status none = STATUS_INIT;
	struct kube_result result = { .status = &none, .code = r->code };
	struct err err;

	land(call);
	if (r->error != FETCH_OK) {
		on_no_answer(call, r);
	} else if (r->code < 200 || r->code > 299) {
		on_failed_answer(call, r);
	} else {
		if (r->body_len > 0)
			answer = js_parse(r->body, r->body_len, &err);
		result.answer = answer;
		finish(call, &result);
	}
}

static void
launch(struct kube_call *call)
{
	struct kube_client *c = call->client;
	struct kube_wire wire;

	TAILQ_REMOVE(&c->waiting, call, entry);
	TAILQ_INSERT_TAIL(&c->others, call, entry);
	c->stats.waiting--;
	c->stats.in_flight++;
	c->stats.tries++;
	call->state = CALL_SENT;
	call->tries++;
	call->throttled = false;
	loop_timer_stop(call->timer);

	kube_wire_begin(&wire, c, call->content_type);
	wire.fetch.method = call->method;
	wire.fetch.url = call->url;
	wire.fetch.body = call->body;
	wire.fetch.body_len = call->body != NULL ? strlen(call->body) : 0;
	wire.fetch.body_max = c->body_max;
	wire.fetch.once = !call->repeatable;
	/* 0 would mean for ever. */
	wire.fetch.timeout_ms = (unsigned)left_ms(call) + 1;
	/* What may take longer than others has to begin as soon as they do:
	 * another try may find a server that answers. */
	if (!call->write && left_ms(call) > c->timeout_ms)
		wire.fetch.head_ms = c->timeout_ms;
	call->fetch = fetch_start(c->fetcher, &wire.fetch, on_fetched, call);
	kube_wire_done(&wire);
}

/* Takes one from the bucket; otherwise how long until there is one. */
static bool
take_token(struct kube_client *c, uint64_t *ret_wait_us)
{
	uint64_t now = loop_now_ns();

	c->tokens += (double)(now - c->tokens_ns) * c->qps / NS_PER_S;
	c->tokens_ns = now;
	if (c->tokens > c->burst)
		c->tokens = c->burst;
	if (c->tokens >= 1) {
		c->tokens -= 1;
		return true;
	}
	*ret_wait_us = (uint64_t)((1 - c->tokens) * 1e6 / c->qps) + 1;
	return false;
}

static void
pump(void *arg)
{
	struct kube_client *c = arg;
	struct kube_call *call;
	uint64_t wait_us;

	while ((call = TAILQ_FIRST(&c->waiting)) != NULL &&
	       (call->urgent || c->stats.in_flight < c->in_flight)) {
		if (call->write && !call->always && c->may_write != NULL &&
		    !c->may_write(c->may_write_arg)) {
			finish_unsent(call, 409, "Conflict",
				      "not sent: another one is the leader");
			continue;
		}
		if (!call->urgent && !take_token(c, &wait_us)) {
			c->stats.throttled += !call->throttled;
			call->throttled = true;
			loop_timer_start(c->pump, wait_us);
			return;
		}
		launch(call);
	}
}

static char *
make_url(const struct kube_client *c, const struct kube_request *r)
{
	struct buf url = BUF_INIT(BUF_UNLIMITED);
	AUTO(free_ptr) char *path = NULL;
	char limit[16] = "";

	path = r->path != NULL
		       ? xstrdup(r->path)
		       : kube_path(r->resource, r->ns, r->name, r->subresource);
	(void)buf_append_str(&url, c->config->server);
	(void)buf_append_str(&url, path);
	if (r->limit > 0)
		(void)snprintf(limit, sizeof(limit), "%u", r->limit);
	url_add_param(&url, "labelSelector", r->label_selector);
	url_add_param(&url, "fieldSelector", r->field_selector);
	url_add_param(&url, "resourceVersion", r->resource_version);
	url_add_param(&url, "limit", limit);
	url_add_param(&url, "continue", r->continue_token);
	url_add_param(&url, "dryRun", r->dry_run ? "All" : NULL);
	return (char *)url.data;
}

struct kube_call *
kube_send(struct kube_client *c, const struct kube_request *r,
	  kube_done_fn *done, void *arg)
{
	struct kube_call *call = xmalloc0(sizeof(*call));

	call->client = c;
	call->timer = loop_timer_new(c->loop, on_call_timer, call);
	call->method = verbs[r->verb].method;
	call->url = make_url(c, r);
	if (r->body != NULL) {
		call->body = js_text(r->body);
		call->content_type = verbs[r->verb].content_type;
	}
	call->write = r->verb != KUBE_GET;
	call->repeatable = !call->write || r->repeatable;
	call->always = r->always;
	call->urgent = r->urgent;
	call->began_ns = loop_now_ns();
	call->deadline_ms = call->began_ns / NS_PER_MS +
			    or_default(r->timeout_ms, c->timeout_ms);
	call->done = done;
	call->arg = arg;
	wait_for_turn(call);
	return call;
}

void
kube_cancel(struct kube_call *call)
{
	if (call == NULL || call->finished)
		return;
	if (call->state == CALL_WAITING) {
		call->client->stats.waiting--;
	} else if (call->state == CALL_SENT) {
		/* land() forgets it; that must not leave it running. */
		fetch_cancel(call->fetch);
		land(call);
	}
	call_free(call);
}

bool
kube_is_not_found(const struct kube_result *r)
{
	return r->code == 404;
}

bool
kube_is_conflict(const struct kube_result *r)
{
	return r->code == 409 && !kube_is_already_exists(r);
}

bool
kube_is_already_exists(const struct kube_result *r)
{
	return r->code == 409 && str_equal(r->status->reason, "AlreadyExists");
}

bool
kube_is_expired(const struct kube_result *r)
{
	return r->status->code == 410;
}

json_t *
kube_delete_options(const char *uid, const char *propagation, int grace_s)
{
	json_t *options = json_pack("{s:s,s:s}", "kind", "DeleteOptions",
				    "apiVersion", "v1");

	if (uid != NULL)
		(void)json_object_set_new(options, "preconditions",
					  json_pack("{s:s}", "uid", uid));
	if (propagation != NULL)
		(void)json_object_set_new(options, "propagationPolicy",
					  json_string(propagation));
	if (grace_s >= 0)
		(void)json_object_set_new(options, "gracePeriodSeconds",
					  json_integer(grace_s));
	return options;
}
