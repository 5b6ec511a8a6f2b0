/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "handler/claims.h"
#include "handler/handler.h"
#include "handler/host.h"
#include "handler/launchlink.h"
#include "handler/meter.h"
#include "handler/netjob.h"
#include "handler/network/network.h"
#include "kube/events.h"
#include "kube/obj.h"
#include "meta/time.h"

#define US_PER_MS 1000
/* How long what was found out about claims is believed. */
#define JUDGEMENT_US (INT64_C(60) * 1000000)
/* Before a step that failed is tried again; twice that the next time. */
#define BACKOFF_US INT64_C(250000)
#define BACKOFF_MAX_US (INT64_C(10) * 1000000)

/* Of a listener that runs, for a migration that nobody remembers. */
static const char unknown[] = "?";

struct machine *
machine_new(struct handler *handler, const char *key)
{
	struct machine *m = xmalloc0(sizeof(*m));
	char buf[KUBE_KEY_MAX];
	const char *ns, *name;

	(void)kube_key_split(key, buf, &ns, &name);
	m->handler = handler;
	m->key = xstrdup(key);
	m->ns = xstrdup(ns);
	m->name = xstrdup(name);
	m->uid = xstrdup("");
	m->pod_uid = xstrdup("");
	m->finalized = xstrdup("");
	m->swept = xstrdup("");
	m->blame_uid = xstrdup("");
	m->step_uid = xstrdup("");
	m->pause_id = xstrdup("");
	m->pause_failure = xstrdup("");
	for (size_t i = 0; i < PROXY_SIDE_COUNT; i++)
		m->listens_for[i] = xstrdup("");
	return m;
}

static void
set_text(char **text, const char *value)
{
	char *copy = xstrdup(value);

	free(*text);
	*text = copy;
}

static void
forget_pod(struct machine *m)
{
	launchlink_free(m->link);
	m->link = NULL;
	json_decref(m->interfaces);
	m->interfaces = NULL;
	network_result_free(m->network);
	m->network = NULL;
	m->shutdown_us = 0;
	set_text(&m->pod_uid, "");
}

static void
forget_newer(struct machine *m)
{
	vmi_free(m->newer_vmi);
	m->newer_vmi = NULL;
	json_decref(m->newer);
	m->newer = NULL;
}

void
machine_free(struct machine *m)
{
	if (m == NULL)
		return;
	kube_cancel(m->call);
	netjob_forget(m->netjob);
	claims_free(m->claims);
	forget_pod(m);
	forget_newer(m);
	decision_done(&m->decision);
	json_decref(m->target_result);
	for (size_t i = 0; i < PROXY_SIDE_COUNT; i++)
		free(m->listens_for[i]);
	free(m->counted);
	free(m->finalized);
	free(m->swept);
	free(m->blame_uid);
	json_decref(m->blame);
	free(m->step_uid);
	free(m->pause_id);
	free(m->pause_failure);
	free(m->pod_uid);
	free(m->uid);
	free(m->ns);
	free(m->name);
	free(m->key);
	free(m);
}

const struct vmi *
machine_vmi(const struct machine *m)
{
	const struct seen_vmi *seen = handler_vmi(m->handler, m->key);

	if (m->newer_vmi != NULL)
		return m->newer_vmi;
	return seen == NULL ? NULL : seen->vmi;
}

const json_t *
machine_object(const struct machine *m)
{
	const struct seen_vmi *seen = handler_vmi(m->handler, m->key);

	if (m->newer_vmi != NULL)
		return m->newer;
	return seen == NULL || seen->vmi == NULL ? NULL : seen->object;
}

/* A pod of an earlier machine of the name, or of an earlier migration, is not
 * the one to talk to, even when the right one has not been seen yet. */
const struct pod *
machine_pod(const struct machine *m)
{
	const struct facts f = { .node = handler_options(m->handler)->node,
				 .vmi = machine_vmi(m) };
	bool received =
		f.vmi != NULL && facts_is_target(&f) && !facts_is_owner(&f);

	return handler_pod(m->handler, m->key, m->uid,
			   received ? f.vmi->migration->uid : "");
}

/* Versions are numbers that grow wherever Ferry runs; where they are not, each
 * one that is seen counts as newer, which costs a conflict at most. */
void
machine_seen(struct machine *m, const char *version)
{
	uint64_t seen, own;
	struct err err;

	if (m->newer == NULL)
		return;
	if (str_to_u64(version, "", 0, UINT64_MAX, &seen, &err) == 0 &&
	    str_to_u64(obj_version(m->newer), "", 0, UINT64_MAX, &own, &err) ==
		    0 &&
	    seen < own)
		return;
	forget_newer(m);
}

static void
keep_newer(struct machine *m, json_t *object)
{
	struct err err;

	forget_newer(m);
	m->newer_vmi = vmi_decode(object, &err);
	if (m->newer_vmi == NULL) {
		log_warning(NULL, "machine %s, ignoring: %s", m->key, err.text);
		return;
	}
	m->newer = json_incref(object);
}

bool
machine_is_idle(const struct machine *m)
{
	if (m->busy || handler_vmi(m->handler, m->key) != NULL ||
	    handler_pod(m->handler, m->key, "", "") != NULL)
		return false;
	return m->listens_for[PROXY_SOURCE][0] == '\0' &&
	       m->listens_for[PROXY_TARGET][0] == '\0';
}

void
machine_proxy_changed(struct machine *m)
{
	const struct proxyctl *ctl = handler_proxy(m->handler);

	for (int i = 0; i < PROXY_SIDE_COUNT; i++) {
		bool runs = proxyctl_has(ctl, (enum proxy_side)i, m->uid);

		if (!runs)
			set_text(&m->listens_for[i], "");
		else if (m->listens_for[i][0] == '\0')
			set_text(&m->listens_for[i], unknown);
	}
}

static void
link_changed(void *arg)
{
	struct machine *m = arg;

	handler_poke(m->handler, m->key, 0);
}

/* The link leads to the pod that there is now. */
static void
follow_pod(struct machine *m, const struct pod *pod)
{
	bool wanted = pod != NULL && !pod_is_down(pod);
	struct launchlink_config config = {
		.loop = handler_options(m->handler)->loop,
		.kubelet_root = handler_options(m->handler)->kubelet_root,
		.changed = link_changed,
		.arg = m,
	};

	if (wanted && str_equal(pod->meta.uid, m->pod_uid))
		return;
	if (m->link != NULL || m->pod_uid[0] != '\0')
		forget_pod(m);
	if (!wanted)
		return;
	set_text(&m->pod_uid, pod->meta.uid);
	config.pod_uid = pod->meta.uid;
	config.vmi_uid = pod->vmi_uid;
	m->link = launchlink_new(&config);
}

/* Another machine of the same name: nothing that is known is of it. When there
 * is none, it is the one that a pod is left of. */
static void
follow_uid(struct machine *m, const struct vmi *vmi)
{
	const struct pod *pod = NULL;
	const char *uid;

	if (vmi == NULL && machine_pod(m) == NULL)
		pod = handler_pod(m->handler, m->key, "", "");
	uid = vmi != NULL ? vmi->meta.uid : pod != NULL ? pod->vmi_uid : m->uid;
	if (str_equal(uid, m->uid))
		return;
	set_text(&m->uid, uid);
	m->gone = false;
	m->judged = false;
	set_text(&m->finalized, "");
	set_text(&m->swept, "");
	machine_proxy_changed(m);
}

static const char *
pause_failure(const struct machine *m, const json_t *object)
{
	const char *id = object == NULL
				 ? NULL
				 : obj_annotation(object, ANNOTATION_PAUSE_ID);

	return id != NULL && str_equal(id, m->pause_id) ? m->pause_failure : "";
}

static struct facts
gather(const struct machine *m, const struct pod *pod)
{
	const struct handler_options *options = handler_options(m->handler);
	const json_t *object = machine_object(m);
	bool proxy_up = proxyctl_is_up(handler_proxy(m->handler));

	return (struct facts){
		.now_us = time_now_us(),
		.node = options->node,
		.vmi = machine_vmi(m),
		.object = object,
		.pod = pod,
		.link = m->link == NULL ? LINK_NONE : launchlink_state(m->link),
		.link_text = m->link == NULL ? "" : launchlink_text(m->link),
		.status = m->link == NULL ? NULL : launchlink_status(m->link),
		.versions =
			m->link == NULL ? NULL : launchlink_versions(m->link),
		.interfaces = m->interfaces,
		.network_us = m->network_us,
		.migratable = m->judged ? &m->migratable : NULL,
		.selinux_context = host_selinux_context(),
		.proxy_up = proxy_up,
		.source = { proxy_up ? m->listens_for[PROXY_SOURCE] : "", "",
			    NULL },
		.target = { proxy_up ? m->listens_for[PROXY_TARGET] : "",
			    js_str_at(m->target_result, "address"),
			    js_obj_at(m->target_result, "ports") },
		.finalized = m->finalized,
		.swept = m->swept,
		.blame_uid = m->blame_uid,
		.blame_code = js_str_at(m->blame, "reason"),
		.blame_text = js_str_at(m->blame, "message"),
		.shutdown_us = m->shutdown_us,
		.pause_failure = pause_failure(m, object),
	};
}

struct meter_machine
machine_measured(const struct machine *m)
{
	const struct vmi *vmi = machine_vmi(m);
	const struct launch_status *status =
		m->link == NULL ? NULL : launchlink_status(m->link);
	bool here = vmi != NULL &&
		    str_equal(vmi->node, handler_options(m->handler)->node);

	return (struct meter_machine){
		.ns = m->ns,
		.name = m->name,
		.here = here,
		.phase = here ? vmi->phase : VMI_UNSET,
		.record = status == NULL ? NULL : status->migration,
	};
}

static void
end_look(struct machine *m, bool failed)
{
	m->busy = false;
	decision_done(&m->decision);
	handler_looked(m->handler, m->key, failed);
}

static struct events_ref
ref_of(const struct machine *m)
{
	return (struct events_ref){
		.api_version = "kubevirt.io/v1",
		.kind = api_vmis.kind,
		.ns = m->ns,
		.name = m->name,
		.uid = m->uid,
	};
}

static void
emit(struct machine *m)
{
	const struct vmi *vmi = machine_vmi(m);
	const struct events_ref ref = ref_of(m);

	if (vmi == NULL)
		return;
	for (size_t i = 0; i < m->decision.event_count; i++) {
		const struct decision_event *event = &m->decision.events[i];

		events_emit(handler_events(m->handler), &ref,
			    event->warning ? "Warning" : "Normal",
			    event->reason, "%s", event->text);
	}
}

static void
complain(struct machine *m, const char *text)
{
	const struct events_ref ref = ref_of(m);

	log_warning(NULL, "machine %s: %s (%s): %s", m->key,
		    step_name(m->decision.step), m->decision.rule, text);
	if (machine_vmi(m) != NULL)
		events_emit(handler_events(m->handler), &ref, "Warning",
			    "SyncFailed", "%s", text);
}

static void
patched(const struct kube_result *result, void *arg)
{
	struct machine *m = arg;
	bool failed = result->status->code != 0;

	m->call = NULL;
	if (!failed && result->answer != NULL) {
		keep_newer(m, result->answer);
		emit(m);
		handler_poke(m->handler, m->key, 0);
	} else if (failed && !kube_is_not_found(result)) {
		log_info(NULL, "machine %s: cannot write (%s), trying on: %s",
			 m->key, m->decision.rule, result->status->message);
	}
	end_look(m, failed);
}

static bool
write_wishes(struct machine *m)
{
	AUTO(js_unref)
	json_t *patch = wishes_patch(&m->decision.wishes, machine_object(m));
	struct kube_request request = {
		.verb = KUBE_PATCH_JSON,
		.resource = &api_vmis,
		.ns = m->ns,
		.name = m->name,
		.body = patch,
		.urgent = true,
	};

	if (patch == NULL)
		return false;
	m->call = kube_send(handler_client(m->handler), &request, patched, m);
	return true;
}

/* The launcher may have news meanwhile, which make a look but no difference. */
static void
back_off(struct machine *m)
{
	int64_t pause_us = BACKOFF_US;

	if (m->decision.step != m->failed_step)
		m->failures = 0;
	m->failed_step = m->decision.step;
	for (unsigned i = 0; i < m->failures && pause_us < BACKOFF_MAX_US; i++)
		pause_us *= 2;
	m->failures++;
	m->retry_us = time_now_us() + pause_us;
}

/* A look at a network that is as it should be is no news. */
static void
log_done(const struct machine *m)
{
	const char *name = step_name(m->decision.step);

	if (m->decision.step == STEP_NETWORK && !m->network->changed)
		log_debug(NULL, "machine %s: %s is done", m->key, name);
	else
		log_info(NULL, "machine %s: %s is done", m->key, name);
}

void
machine_step_done(struct machine *m, const struct err *err)
{
	/* A launcher that is to end does so in its own time. */
	if (m->decision.step == STEP_CLEANUP) {
		back_off(m);
		end_look(m, true);
		return;
	}
	if (err != NULL) {
		handler_meter(m->handler)->step_failures[m->decision.step]++;
		back_off(m);
		complain(m, err->text);
		if (m->decision.step == STEP_PAUSE ||
		    m->decision.step == STEP_UNPAUSE) {
			const char *id = obj_annotation(machine_object(m),
							ANNOTATION_PAUSE_ID);

			set_text(&m->pause_id, id == NULL ? "" : id);
			set_text(&m->pause_failure, err->text);
		}
	} else {
		m->failed_step = STEP_NONE;
		m->failures = 0;
		log_done(m);
		emit(m);
		handler_poke(m->handler, m->key, 0);
	}
	end_look(m, err != NULL);
}

static void
measure(struct machine *m, const struct facts *f)
{
	for (int role = 0; role < LAUNCH_ROLE_COUNT; role++) {
		const struct launch_record *record =
			facts_record(f, (enum launch_role)role);

		if (record != NULL)
			meter_record(handler_meter(m->handler), record,
				     &m->counted);
	}
}

static void
carry_out(struct machine *m, const struct facts *f)
{
	struct decision *d = &m->decision;

	measure(m, f);
	decide(f, d);
	if (m->decision.step != STEP_NONE || d->wishes.count > 0)
		log_debug(NULL, "machine %s: %s, %s", m->key, d->rule,
			  step_name(d->step));
	if (d->wishes.count > 0 && write_wishes(m))
		return;
	if (d->step != STEP_NONE && d->step == m->failed_step &&
	    f->now_us < m->retry_us) {
		decision_again(d, m->retry_us);
	} else if (d->step != STEP_NONE) {
		machine_step(m);
		return;
	}
	if (d->again_us != DECISION_NEVER) {
		int64_t delay = d->again_us - f->now_us;

		handler_poke(m->handler, m->key,
			     delay > 0 ? (uint64_t)delay / US_PER_MS + 1 : 0);
	}
	end_look(m, false);
}

static void
decide_now(struct machine *m)
{
	const struct pod *pod = machine_pod(m);
	struct facts f;

	follow_pod(m, pod);
	f = gather(m, pod);

	carry_out(m, &f);
}

static void
judge(struct machine *m, const struct vmi *vmi)
{
	claims_judge(m->claims, vmi,
		     host_model(handler_host(m->handler))[0] != '\0',
		     &m->migratable);
	claims_free(m->claims);
	m->claims = NULL;
	m->judged = true;
	m->judged_us = time_now_us();
	decide_now(m);
}

static void
claims_known(void *arg)
{
	struct machine *m = arg;
	const struct vmi *vmi = machine_vmi(m);

	if (vmi != NULL) {
		judge(m, vmi);
		return;
	}
	claims_free(m->claims);
	m->claims = NULL;
	handler_poke(m->handler, m->key, 0);
	end_look(m, false);
}

/* A machine that runs here is looked at anew from time to time: its claims may
 * have changed. */
static bool
needs_judgement(const struct machine *m)
{
	const struct vmi *vmi = machine_vmi(m);

	if (vmi == NULL || vmi_is_final(vmi) ||
	    !str_equal(vmi->node, handler_options(m->handler)->node))
		return false;
	return !m->judged || time_now_us() > m->judged_us + JUDGEMENT_US;
}

/* Whether the machine is really gone, and not only on its way elsewhere. */
static void
fetched(const struct kube_result *result, void *arg)
{
	struct machine *m = arg;

	m->call = NULL;
	if (kube_is_not_found(result)) {
		m->gone = true;
	} else if (result->answer != NULL) {
		keep_newer(m, result->answer);
	} else {
		end_look(m, true);
		return;
	}
	/* One that cannot be understood is not one that is gone: its guest
	 * would be killed. */
	if (!m->gone && m->newer_vmi == NULL) {
		end_look(m, true);
		return;
	}
	/* Another of the same name is not this one. */
	if (!m->gone && m->uid[0] != '\0' &&
	    !str_equal(m->newer_vmi->meta.uid, m->uid)) {
		forget_newer(m);
		m->gone = true;
	}
	decide_now(m);
}

static void
fetch(struct machine *m)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vmis,
		.ns = m->ns,
		.name = m->name,
	};

	m->call = kube_send(handler_client(m->handler), &request, fetched, m);
}

void
machine_look(struct machine *m)
{
	const struct vmi *vmi;

	m->busy = true;
	/* What is not followed any more is asked for each time. */
	if (handler_vmi(m->handler, m->key) == NULL)
		forget_newer(m);
	else
		m->gone = false;
	vmi = machine_vmi(m);
	follow_uid(m, vmi);
	follow_pod(m, machine_pod(m));
	if (vmi == NULL && !m->gone) {
		fetch(m);
		return;
	}
	if (!needs_judgement(m))
		decide_now(m);
	else if (claims_are_needed(vmi))
		m->claims = claims_ask(handler_client(m->handler), vmi,
				       claims_known, m);
	else
		judge(m, vmi);
}
