/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/leader.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "kube/client.h"
#include "meta/names.h"
#include "meta/time.h"

#define US_PER_MS UINT64_C(1000)
#define AGAIN_MS 50 /* after a conflict, while it leads */
#define RELEASE_MS 3000
#define HOLDER_MAX 256

struct leader {
	struct leader_config config;
	char *ns;
	char *name;
	char *identity;
	struct loop_timer *timer;    /* the next try; stopping: the end */
	struct loop_timer *deadline; /* while it leads: to step down */
	struct kube_call *call;      /* at most one */
	uint64_t sent_ms;            /* when it was sent */

	json_t *lease;    /* as last seen; NULL: to be read first */
	char *seen;       /* its spec as text, to notice changes */
	uint64_t seen_ms; /* when that changed */
	char holder[HOLDER_MAX];

	bool leads;
	uint64_t renewed_ms; /* when the last renewal was sent */
	bool stopping;
	void (*stop_done)(void *arg);
	void *stop_arg;
};

static void try_it(void *arg);

/* Goes on while the machine sleeps, unlike the loop's clock. */
static uint64_t
now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
step_down(struct leader *l, const char *why)
{
	if (!l->leads)
		return;
	l->leads = false;
	loop_timer_stop(l->deadline);
	log_debug(NULL, "lease '%s': no longer the leader: %s", l->name, why);
	l->config.stopped(l->config.arg);
}

static void
on_deadline(void *arg)
{
	step_down(arg, "it could not be renewed in time");
}

struct leader *
leader_new(const struct leader_config *config)
{
	struct leader *l = xmalloc0(sizeof(*l));
	struct loop *loop = kube_client_loop(config->client);

	l->config = *config;
	if (l->config.lease_ms == 0)
		l->config.lease_ms = LEADER_LEASE_MS;
	if (l->config.renew_ms == 0)
		l->config.renew_ms = LEADER_RENEW_MS;
	if (l->config.retry_ms == 0)
		l->config.retry_ms = LEADER_RETRY_MS;
	l->ns = xstrdup(config->ns);
	l->name = xstrdup(config->name);
	l->identity = xstrdup(config->identity);
	l->timer = loop_timer_new(loop, try_it, l);
	l->deadline = loop_timer_new(loop, on_deadline, l);
	loop_timer_start(l->timer, 0);
	return l;
}

void
leader_free(struct leader *l)
{
	if (l == NULL)
		return;
	kube_cancel(l->call);
	loop_timer_free(l->timer);
	loop_timer_free(l->deadline);
	json_decref(l->lease);
	free(l->seen);
	free(l->ns);
	free(l->name);
	free(l->identity);
	free(l);
}

bool
leader_leads(const struct leader *l)
{
	return l->leads && now_ms() < l->renewed_ms + l->config.renew_ms;
}

bool
leader_may_write(void *leader)
{
	return leader_leads(leader);
}

const char *
leader_holder(const struct leader *l)
{
	return l->holder;
}

/* Who does not lead waits a little longer, each for another time. */
static void
wait_for_retry(struct leader *l)
{
	uint64_t pause = l->config.retry_ms;

	if (!l->leads)
		pause += random_below(l->config.retry_ms / 4 + 1);
	loop_timer_start(l->timer, pause * US_PER_MS);
}

/* Takes note of the Lease as it is. */
static void
observe(struct leader *l, json_t *lease)
{
	const char *holder = js_str_at(lease, "spec.holderIdentity");
	char *text = js_text_sorted(js_obj_at(lease, "spec"), NULL);

	(void)json_incref(lease);
	json_decref(l->lease);
	l->lease = lease;
	if (!str_equal(text, l->seen)) {
		free(l->seen);
		l->seen = TAKE_PTR(text);
		l->seen_ms = now_ms();
	}
	free(text);
	if (str_equal(holder, l->holder))
		return;
	(void)snprintf(l->holder, sizeof(l->holder), "%s", holder);
	if (l->config.changed != NULL)
		l->config.changed(l->holder, l->config.arg);
}

static bool
is_mine(const struct leader *l)
{
	return str_equal(js_str_at(l->lease, "spec.holderIdentity"),
			 l->identity);
}

static bool
is_free(const struct leader *l)
{
	int64_t seconds = js_int_at(l->lease, "spec.leaseDurationSeconds", 0);

	if (*js_str_at(l->lease, "spec.holderIdentity") == '\0' || is_mine(l))
		return true;
	if (seconds < 0 || seconds > 24 * 3600)
		seconds = l->config.lease_ms / 1000;
	return now_ms() > l->seen_ms + (uint64_t)seconds * 1000;
}

/* A new Lease with this process as its holder, or nobody. */
static json_t *
make_lease(const struct leader *l, bool release)
{
	char now[TIME_TEXT_SIZE];
	unsigned seconds = release ? 1 : (l->config.lease_ms + 999) / 1000;
	json_t *lease =
		l->lease != NULL
			? json_deep_copy(l->lease)
			: json_pack("{s:s,s:s,s:{s:s,s:s}}", "apiVersion",
				    "coordination.k8s.io/v1", "kind", "Lease",
				    "metadata", "name", l->name, "namespace",
				    l->ns);
	json_t *spec = js_make_obj_at(lease, "spec");
	int64_t transitions = js_int_at(spec, "leaseTransitions", 0);

	(void)time_text_micro(time_now_us(), now);
	if (l->lease != NULL && !is_mine(l))
		transitions++;
	if (l->lease == NULL || !is_mine(l) || release)
		(void)json_object_set_new(spec, "acquireTime",
					  json_string(now));
	(void)json_object_set_new(spec, "holderIdentity",
				  json_string(release ? "" : l->identity));
	(void)json_object_set_new(spec, "leaseDurationSeconds",
				  json_integer(seconds));
	(void)json_object_set_new(spec, "renewTime", json_string(now));
	(void)json_object_set_new(spec, "leaseTransitions",
				  json_integer(transitions));
	return lease;
}

static void
send(struct leader *l, enum kube_verb verb, const json_t *body,
     kube_done_fn *done)
{
	struct kube_request request = {
		.verb = verb,
		.resource = &kube_leases,
		.ns = l->ns,
		.name = verb == KUBE_CREATE ? NULL : l->name,
		.body = body,
		.always = true,
		.urgent = true,
		.timeout_ms = l->stopping ? RELEASE_MS : l->config.renew_ms / 2,
	};

	l->sent_ms = now_ms();
	l->call = kube_send(l->config.client, &request, done, l);
}

static void
begin_leading(struct leader *l)
{
	uint64_t used = now_ms() - l->sent_ms;
	bool led = l->leads;

	if (used >= l->config.renew_ms)
		return;
	l->renewed_ms = l->sent_ms;
	loop_timer_start(l->deadline, (l->config.renew_ms - used) * US_PER_MS);
	if (led)
		return;
	l->leads = true;
	log_debug(NULL, "lease '%s': the leader is '%s'", l->name, l->identity);
	l->config.started(l->config.arg);
}

static void
forget_lease(struct leader *l)
{
	json_decref(l->lease);
	l->lease = NULL;
}

static void
on_written(const struct kube_result *result, void *arg)
{
	struct leader *l = arg;

	l->call = NULL;
	if (result->status->code == 0 && json_is_object(result->answer)) {
		observe(l, result->answer);
		/* Whom that told may have stopped it. */
		if (l->stopping)
			return;
		wait_for_retry(l);
		begin_leading(l);
		return;
	}
	log_debug(NULL, "lease '%s' cannot be written: %s", l->name,
		  result->status->code != 0 ? result->status->message
					    : "the answer is no Lease");
	forget_lease(l);
	if (l->leads && result->code == 409)
		loop_timer_start(l->timer, AGAIN_MS * US_PER_MS);
	else
		wait_for_retry(l);
}

static void
write_lease(struct leader *l)
{
	AUTO(js_unref) json_t *lease = make_lease(l, false);

	send(l, l->lease != NULL ? KUBE_UPDATE : KUBE_CREATE, lease,
	     on_written);
}

static void
on_read(const struct kube_result *result, void *arg)
{
	struct leader *l = arg;

	l->call = NULL;
	if (result->code == 404) {
		forget_lease(l);
		write_lease(l);
		return;
	}
	if (result->status->code != 0 || !json_is_object(result->answer)) {
		log_debug(NULL, "lease '%s' cannot be read: %s", l->name,
			  result->status->code != 0 ? result->status->message
						    : "it is no Lease");
		forget_lease(l);
		wait_for_retry(l);
		return;
	}
	observe(l, result->answer);
	if (l->leads && !is_mine(l))
		step_down(l, "somebody else has taken it");
	/* Which may have led to the end. */
	if (l->stopping)
		return;
	if (is_free(l))
		write_lease(l);
	else
		wait_for_retry(l);
}

static void
try_it(void *arg)
{
	struct leader *l = arg;

	if (l->stopping) {
		l->stop_done(l->stop_arg);
		return;
	}
	/* After a pause of the whole process the timers come in any order. */
	if (l->leads && !leader_leads(l))
		step_down(l, "it could not be renewed in time");
	if (l->stopping || l->call != NULL)
		return;
	if (l->leads && l->lease != NULL)
		write_lease(l);
	else
		send(l, KUBE_GET, NULL, on_read);
}

static void
on_released(const struct kube_result *result, void *arg)
{
	struct leader *l = arg;

	(void)result;
	l->call = NULL;
	loop_timer_start(l->timer, 0);
}

void
leader_stop(struct leader *l, void (*done)(void *arg), void *arg)
{
	AUTO(js_unref) json_t *lease = NULL;
	bool led = l->leads;

	if (l->stopping)
		return;
	l->stopping = true;
	l->stop_done = done;
	l->stop_arg = arg;
	kube_cancel(l->call);
	l->call = NULL;
	loop_timer_stop(l->timer);
	step_down(l, "it is being stopped");
	if (led && l->lease != NULL && is_mine(l)) {
		lease = make_lease(l, true);
		send(l, KUBE_UPDATE, lease, on_released);
	} else {
		loop_timer_start(l->timer, 0);
	}
}

char *
leader_make_identity(void)
{
	char host[HOLDER_MAX / 2] = "";
	char uuid[NAME_UUID_SIZE];

	(void)gethostname(host, sizeof(host) - 1);
	return xasprintf("%s_%s", host, name_uuid(uuid));
}
