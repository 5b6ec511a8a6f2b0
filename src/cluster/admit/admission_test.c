/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "cluster/admit/testadmit.h"
#include "http/server.h"

#define GROUP "admissionregistration.k8s.io"
#define HELD_MAX 8

/* Webhooks on one server; what one does depends on its path. */
struct bench {
	struct world *w;
	struct admission *adm;
	struct backend backend;
	struct buf asked; /* "/path " of each call, in order */
	json_t *last;     /* the request of the last review */
	/* Calls to /hold: answered when there are so many. */
	struct http_request *held[HELD_MAX];
	size_t held_count;
	size_t hold_until;
};

static void
reply(struct http_request *req, const char *uid, const char *response)
{
	AUTO(free_ptr)
	char *text = xasprintf("{'apiVersion':'admission.k8s.io/v1','kind':"
			       "'AdmissionReview','response':{'uid':'%s',%s}}",
			       uid, response);

	for (char *c = text; *c != '\0'; c++) {
		if (*c == '\'')
			*c = '"';
	}
	http_reply(req, 200, NULL, 0, text, strlen(text));
}

/* Adds a label that is named by the path behind "/label/". */
static void
reply_label(struct http_request *req, const char *uid, const char *name)
{
	AUTO(free_ptr)
	char *ops =
		xasprintf("[{\"op\":\"add\",\"path\":\"/metadata/labels/%s\","
			  "\"value\":\"x\"}]",
			  name);
	AUTO(free_ptr)
	char *patch = base64_encode(BASE64_STD, ops, strlen(ops));
	AUTO(free_ptr)
	char *response = xasprintf("'allowed':true,'patchType':'JSONPatch',"
				   "'patch':'%s'",
				   patch);

	reply(req, uid, response);
}

static void
hold(struct bench *b, struct http_request *req)
{
	assert_true(b->held_count < HELD_MAX);
	b->held[b->held_count++] = req;
	if (b->held_count < b->hold_until)
		return;
	for (size_t i = 0; i < b->held_count; i++) {
		struct err err;
		AUTO(js_unref)
		json_t *review =
			js_parse(b->held[i]->body, b->held[i]->body_len, &err);

		reply(b->held[i], js_str_at(review, "request.uid"),
		      "'allowed':true");
	}
	b->held_count = 0;
}

static void
handle(struct http_request *req, void *arg)
{
	struct bench *b = arg;
	struct err err;
	AUTO(js_unref)
	json_t *review = js_parse(req->body, req->body_len, &err);
	const char *uid = js_str_at(review, "request.uid");

	assert_string_equal(req->method, "POST");
	assert_string_equal(http_header(req, "User-Agent"),
			    "kube-apiserver-admission");
	(void)buf_printf(&b->asked, "%s ", req->path);
	json_decref(b->last);
	b->last = json_incref(js_obj_at(review, "request"));
	if (str_equal(req->path, "/allow"))
		reply(req, uid, "'allowed':true,'warnings':['careful now']");
	else if (str_equal(req->path, "/deny"))
		reply(req, uid,
		      "'allowed':false,'status':{'message':'no way'}");
	else if (str_has_prefix(req->path, "/label/"))
		reply_label(req, uid, req->path + strlen("/label/"));
	else if (str_equal(req->path, "/hold"))
		hold(b, req);
	else
		http_reply(req, 500, NULL, 0, NULL, 0);
}

static int
set_up(void **state)
{
	struct bench *b = xmalloc0(sizeof(*b));
	struct admission_config config;

	(void)world_set_up((void **)&b->w);
	config = (struct admission_config){
		.loop = b->w->loop,
		.store = b->w->store,
		.registry = b->w->registry,
		.fetcher = b->w->fetcher,
	};
	b->asked = BUF_INIT(4096);
	b->adm = admission_new(&config);
	backend_start(&b->backend, b->w, handle, b);
	*state = b;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *b = *state;
	struct world *w = b->w;

	admission_free(b->adm);
	for (size_t i = 0; i < b->held_count; i++)
		http_stream_abort(b->held[i]);
	backend_stop(&b->backend);
	buf_done(&b->asked);
	json_decref(b->last);
	free(b);
	return world_tear_down((void **)&w);
}

/* client is a clientConfig without its bundle; more ends the webhook. */
static void
put_config(struct bench *b, const char *kind, const char *name,
	   const char *client, const char *more)
{
	AUTO(free_ptr)
	char *resource = xasprintf("%swebhookconfigurations", kind);
	AUTO(free_ptr)
	char *text = xasprintf(
		"{'metadata':{'name':'%s'},'webhooks':[{'name':'%s.example',"
		"'rules':[{'operations':['*'],'apiGroups':['*'],"
		"'apiVersions':['*'],'resources':['*']}],"
		"'admissionReviewVersions':['v1'],'sideEffects':'None',"
		"'clientConfig':{'caBundle':'%s',%s}%s}]}",
		name, name, b->w->ca_bundle, client, more);

	world_put(b->w, GROUP, resource, text);
	world_settle(b->w);
}

static void
put_path(struct bench *b, const char *kind, const char *name, const char *path,
	 const char *more)
{
	AUTO(free_ptr)
	char *client = xasprintf("'url':'https://127.0.0.1:%u%s'",
				 b->backend.port, path);

	put_config(b, kind, name, client, more);
}

static struct admission_request
new_map(struct bench *b)
{
	return world_create(b->w, "", "configmaps",
			    "{'apiVersion':'v1','kind':'ConfigMap','metadata':"
			    "{'name':'m','namespace':'w','labels':{}}}");
}

static void
assert_asked(struct bench *b, const char *paths)
{
	assert_string_equal(b->asked.len > 0 ? (const char *)b->asked.data : "",
			    paths);
	buf_clear(&b->asked);
}

static void
test_without_webhooks_the_answer_comes_at_once(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_true(o.called);
	assert_outcome(&o, 0, NULL, NULL);
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_true(o.called);
	assert_outcome(&o, 0, NULL, NULL);
	world_request_done(&req);
}

static void
test_a_missing_namespace_ends_it_before_any_webhook(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req =
		world_create(b->w, "", "configmaps",
			     "{'metadata':{'name':'m','namespace':'none'}}");

	put_path(b, "mutating", "a", "/allow", "");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 404, "NotFound", "namespaces \"none\" not found");
	assert_asked(b, "");
	world_request_done(&req);
}

static void
test_mutating_webhooks_see_what_those_before_them_did(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	put_path(b, "mutating", "b", "/label/two", "");
	put_path(b, "mutating", "a", "/label/one", "");
	put_path(b, "mutating", "c", "/allow", "");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	assert_asked(b, "/label/one /label/two /allow ");
	assert_string_equal(js_str_at(req.object, "metadata.labels.one"), "x");
	assert_string_equal(js_str_at(req.object, "metadata.labels.two"), "x");
	assert_string_equal(js_str_at(b->last, "object.metadata.labels.two"),
			    "x");
	assert_string_equal(json_string_value(json_array_get(req.warnings, 0)),
			    "careful now");
	world_request_done(&req);
}

static void
test_who_wants_to_know_of_later_changes_is_asked_again_once(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	put_path(b, "mutating", "a", "/label/one",
		 ",'reinvocationPolicy':'IfNeeded'");
	put_path(b, "mutating", "b", "/label/two", "");
	put_path(b, "mutating", "c", "/label/three",
		 ",'reinvocationPolicy':'IfNeeded'");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	assert_asked(b, "/label/one /label/two /label/three /label/one ");
	world_request_done(&req);
	/* Nothing changes now. */
	req = new_map(b);
	(void)json_object_update_new(
		js_obj_at(req.object, "metadata.labels"),
		world_parse("{'one':'x','two':'x','three':'x'}"));
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	assert_asked(b, "/label/one /label/two /label/three ");
	world_request_done(&req);
}

static void
test_a_denial_reaches_the_client(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	put_path(b, "mutating", "a", "/deny", "");
	put_path(b, "mutating", "b", "/allow", "");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 400, NULL,
		       "admission webhook \"a.example\" denied the request: "
		       "no way");
	assert_asked(b, "/deny ");
	put_path(b, "validating", "v", "/deny", "");
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 400, NULL,
		       "admission webhook \"v.example\" denied the request: "
		       "no way");
	world_request_done(&req);
}

static void
test_validating_webhooks_are_asked_at_the_same_time(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	/* Each is answered only once all three have been asked. */
	b->hold_until = 3;
	put_path(b, "validating", "a", "/hold", "");
	put_path(b, "validating", "b", "/hold", "");
	put_path(b, "validating", "c", "/hold", "");
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_false(o.called);
	assert_outcome(&o, 0, NULL, NULL);
	world_request_done(&req);
}

static void
test_the_first_refusal_in_order_is_told(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	put_path(b, "validating", "a", "/allow", "");
	put_path(b, "validating", "b", "/broken", "");
	put_path(b, "validating", "c", "/deny", "");
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 500, "InternalError",
		       "Internal error occurred: failed calling webhook "
		       "\"b.example\": failed to call webhook: an error on the "
		       "server (\"unknown\") has prevented the request from "
		       "succeeding");
	world_request_done(&req);
}

static void
test_a_webhook_that_cannot_be_reached_counts_by_its_policy(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);
	unsigned port = backend_free_port();
	AUTO(free_ptr)
	char *client = xasprintf("'url':'https://127.0.0.1:%u/gone'", port);
	AUTO(free_ptr)
	char *message =
		xasprintf("Internal error occurred: failed calling webhook "
			  "\"a.example\": failed to call webhook: Post "
			  "\"https://127.0.0.1:%u/gone?timeout=10s\": dial tcp "
			  "127.0.0.1:%u: connect: connection refused",
			  port, port);

	put_config(b, "validating", "a", client, "");
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 500, "InternalError", message);
	put_config(b, "validating", "a", client, ",'failurePolicy':'Ignore'");
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	put_config(b, "mutating", "a", client, ",'failurePolicy':'Ignore'");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	world_request_done(&req);
}

static void
test_a_webhook_has_so_much_time_and_no_more(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);
	AUTO(free_ptr)
	char *message = xasprintf(
		"Internal error occurred: failed calling webhook "
		"\"a.example\": failed to call webhook: Post "
		"\"https://127.0.0.1:%u/hold?timeout=1s\": context deadline "
		"exceeded",
		b->backend.port);

	b->hold_until = HELD_MAX;
	put_path(b, "mutating", "a", "/hold", ",'timeoutSeconds':1");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 500, "InternalError", message);
	world_request_done(&req);
}

static void
test_a_server_that_the_bundle_does_not_vouch_for_is_not_asked(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);
	struct tls_pki_pem other = { .cert = NULL };
	struct tls_pki_validity validity = tls_pki_days(1);
	struct err err;

	assert_int_equal(tls_pki_make_ca("other", &validity, &other, &err), 0);
	free(b->w->ca_bundle);
	b->w->ca_bundle = base64_encode(BASE64_STD, other.cert, other.cert_len);
	tls_pki_pem_done(&other);
	put_path(b, "mutating", "a", "/allow", "");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_int_equal(outcome_wait(&o), -1);
	assert_int_equal(o.st.code, 500);
	assert_non_null(strstr(o.st.message, "x509: certificate signed by "
					     "unknown authority"));
	assert_asked(b, "");
	status_done(&o.st);
	world_request_done(&req);
}

static void
test_a_dry_run_asks_only_who_has_no_side_effects(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	req.dry_run = true;
	put_path(b, "validating", "a", "/allow", "");
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	assert_true(js_bool_at(b->last, "dryRun", false));
	world_put(b->w, GROUP, "validatingwebhookconfigurations",
		  "{'metadata':{'name':'a'},'webhooks':[{'name':'a.example',"
		  "'rules':[{'operations':['*'],'apiGroups':['*'],"
		  "'apiVersions':['*'],'resources':['*']}],"
		  "'sideEffects':'Some','failurePolicy':'Ignore'}]}");
	world_settle(b->w);
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 400, "BadRequest",
		       "admission webhook \"a.example\" does not support dry "
		       "run");
	world_request_done(&req);
}

static void
test_a_service_is_found_through_its_endpoints(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);
	AUTO(free_ptr)
	char *endpoints = xasprintf(
		"{'metadata':{'name':'svc','namespace':'w'},'subsets':"
		"[{'addresses':[{'ip':'127.0.0.1'}],'ports':[{'port':%u}]}]}",
		b->backend.port);

	put_config(b, "validating", "a",
		   "'service':{'namespace':'w','name':'svc','path':'/allow'}",
		   "");
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 500, "InternalError",
		       "Internal error occurred: failed calling webhook "
		       "\"a.example\": failed to call webhook: Post "
		       "\"https://svc.w.svc:443/allow?timeout=10s\": service "
		       "\"svc\" not found");
	world_put(b->w, "", "services",
		  "{'metadata':{'name':'svc','namespace':'w'},"
		  "'spec':{'ports':[{'port':443}]}}");
	world_put(b->w, "", "endpoints", endpoints);
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	assert_asked(b, "/allow ");
	world_request_done(&req);
}

static void
test_configurations_are_not_subject_to_webhooks(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req =
		world_create(b->w, GROUP, "validatingwebhookconfigurations",
			     "{'metadata':{'name':'a'}}");

	put_path(b, "mutating", "a", "/deny", "");
	put_path(b, "validating", "a", "/deny", "");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	admission_validate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	assert_asked(b, "");
	world_request_done(&req);
}

static void
test_a_patch_of_what_is_being_deleted_is_an_error(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	req.op = ADMISSION_DELETE;
	req.old = req.object;
	req.object = NULL;
	put_path(b, "mutating", "a", "/label/one", "");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 500, "InternalError",
		       "Internal error occurred: admission webhook "
		       "\"a.example\" attempted to modify the object, which "
		       "is not supported for this operation");
	assert_true(json_is_null(json_object_get(b->last, "object")));
	assert_string_equal(js_str_at(b->last, "oldObject.metadata.name"), "m");
	assert_string_equal(js_str_at(b->last, "options.kind"),
			    "DeleteOptions");
	world_request_done(&req);
}

static void
test_plugins_run_again_on_what_webhooks_made(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req;

	world_put(b->w, "", "serviceaccounts",
		  "{'metadata':{'name':'default','namespace':'w'}}");
	req = world_create(b->w, "", "pods",
			   "{'metadata':{'name':'p','namespace':'w',"
			   "'labels':{}},'spec':{'containers':[]}}");
	put_path(b, "mutating", "a", "/label/one", "");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_outcome(&o, 0, NULL, NULL);
	assert_string_equal(js_str_at(req.object, "spec.serviceAccountName"),
			    "default");
	assert_string_equal(js_str_at(req.object, "metadata.labels.one"), "x");
	world_request_done(&req);
}

static void
test_what_waits_is_answered_when_the_server_ends(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	b->hold_until = HELD_MAX;
	put_path(b, "mutating", "a", "/hold", "");
	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_false(o.called);
	admission_free(b->adm);
	b->adm = NULL;
	assert_outcome(&o, 503, "ServiceUnavailable",
		       "the server is shutting down");
	world_request_done(&req);
}

static void
test_a_configuration_may_change_while_it_is_used(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_map(b);

	put_path(b, "mutating", "a", "/label/one", "");
	put_path(b, "mutating", "b", "/label/two", "");
	admission_mutate(b->adm, &req, outcome_done, &o);
	world_remove(b->w, GROUP, "mutatingwebhookconfigurations", "", "a");
	world_remove(b->w, GROUP, "mutatingwebhookconfigurations", "", "b");
	world_settle(b->w);
	assert_outcome(&o, 0, NULL, NULL);
	assert_asked(b, "/label/one /label/two ");
	world_request_done(&req);
}

static struct admission_request
new_pod(struct bench *b)
{
	return world_create(b->w, "", "pods",
			    "{'metadata':{'name':'p','namespace':'w'},"
			    "'spec':{'containers':[]}}");
}

static void
test_a_pod_waits_for_the_account_of_a_new_namespace(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_pod(b);

	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_false(o.called);
	world_put(b->w, "", "serviceaccounts",
		  "{'metadata':{'name':'other','namespace':'w'}}");
	world_settle(b->w);
	assert_false(o.called);
	world_put(b->w, "", "serviceaccounts",
		  "{'metadata':{'name':'default','namespace':'w'}}");
	world_settle(b->w);
	assert_true(o.called);
	assert_outcome(&o, 0, NULL, NULL);
	world_request_done(&req);
}

static void
test_an_account_that_does_not_come_is_waited_for_in_vain(void **state)
{
	struct bench *b = *state;
	struct outcome o = { .w = b->w };
	struct admission_request req = new_pod(b);

	admission_mutate(b->adm, &req, outcome_done, &o);
	assert_false(o.called);
	assert_outcome(&o, 403, "Forbidden",
		       "pods \"p\" is forbidden: error looking up service "
		       "account w/default: serviceaccount \"default\" not "
		       "found");
	world_request_done(&req);
}

static void
test_the_last_gate_looks_at_the_namespace_again(void **state)
{
	struct bench *b = *state;
	AUTO(status_done) struct status st = STATUS_INIT;
	struct admission_request req = new_map(b);

	assert_int_equal(
		admission_commit(b->adm, &req, store_next_rv(b->w->store), &st),
		0);
	world_put(b->w, "", "namespaces",
		  "{'metadata':{'name':'w',"
		  "'deletionTimestamp':'2026-01-01T00:00:00Z'}}");
	assert_int_equal(
		admission_commit(b->adm, &req, store_next_rv(b->w->store), &st),
		-1);
	assert_int_equal(st.code, 403);
	world_request_done(&req);
}

static void
test_requests_in_webhooks_at_once_do_not_pass_a_quota(void **state)
{
	struct bench *b = *state;
	struct outcome o[3] = { { .w = b->w }, { .w = b->w }, { .w = b->w } };
	AUTO(status_done) struct status st = STATUS_INIT;
	struct admission_request req[3];
	int passed = 0;

	world_put(b->w, "", "resourcequotas",
		  "{'metadata':{'name':'q','namespace':'w'},"
		  "'spec':{'hard':{'configmaps':'2'}}}");
	b->hold_until = 3;
	put_path(b, "validating", "a", "/hold", "");
	for (int i = 0; i < 3; i++) {
		char name[8];

		req[i] = new_map(b);
		(void)snprintf(name, sizeof(name), "m%d", i);
		(void)json_object_set_new(js_obj_at(req[i].object, "metadata"),
					  "name", json_string(name));
		req[i].name = js_str_at(req[i].object, "metadata.name");
		admission_validate(b->adm, &req[i], outcome_done, &o[i]);
	}
	for (int i = 0; i < 3; i++) {
		assert_outcome(&o[i], 0, NULL, NULL);
		if (admission_commit(b->adm, &req[i],
				     store_next_rv(b->w->store), &st) == 0) {
			world_put_json(b->w, "", "configmaps", req[i].object);
			passed++;
		}
		world_request_done(&req[i]);
	}
	assert_int_equal(passed, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_without_webhooks_the_answer_comes_at_once),
		CASE(test_a_missing_namespace_ends_it_before_any_webhook),
		CASE(test_mutating_webhooks_see_what_those_before_them_did),
		CASE(test_who_wants_to_know_of_later_changes_is_asked_again_once),
		CASE(test_a_denial_reaches_the_client),
		CASE(test_validating_webhooks_are_asked_at_the_same_time),
		CASE(test_the_first_refusal_in_order_is_told),
		CASE(test_a_webhook_that_cannot_be_reached_counts_by_its_policy),
		CASE(test_a_webhook_has_so_much_time_and_no_more),
		CASE(test_a_server_that_the_bundle_does_not_vouch_for_is_not_asked),
		CASE(test_a_dry_run_asks_only_who_has_no_side_effects),
		CASE(test_a_service_is_found_through_its_endpoints),
		CASE(test_configurations_are_not_subject_to_webhooks),
		CASE(test_a_patch_of_what_is_being_deleted_is_an_error),
		CASE(test_plugins_run_again_on_what_webhooks_made),
		CASE(test_what_waits_is_answered_when_the_server_ends),
		CASE(test_a_configuration_may_change_while_it_is_used),
		CASE(test_a_pod_waits_for_the_account_of_a_new_namespace),
		CASE(test_an_account_that_does_not_come_is_waited_for_in_vain),
		CASE(test_the_last_gate_looks_at_the_namespace_again),
		CASE(test_requests_in_webhooks_at_once_do_not_pass_a_quota),
	};

	return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
