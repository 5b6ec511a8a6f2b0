/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/testadmit.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/test.h"
#include "cluster/auth/user.h"
#include "http/server.h"
#include "kube/fetch.h"
#include "tls/https.h"

#define DEADLINE_US 20000000
#define CERT_DAYS 2

static struct collection *
collection_of(void *arg, const char *group, const char *resource)
{
	return store_collection(arg, group, resource);
}

static void
on_deadline(void *arg)
{
	(void)arg;
	fail_msg("nothing happened for 20 s");
}

int
world_set_up(void **state)
{
	static const char *const groups[] = { "testers" };
	struct tls_pki_validity validity = tls_pki_days(CERT_DAYS);
	struct world *w = xmalloc0(sizeof(*w));
	struct store_config config;
	struct err err;

	js_init();
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/ferry-admit-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->loop = loop_new();
	w->deadline = loop_timer_new(w->loop, on_deadline, w);
	config = (struct store_config){ .dir = w->dir, .loop = w->loop };
	w->store = store_open(&config, &err);
	assert_non_null(w->store);
	w->registry = registry_new(collection_of, w->store, &err);
	if (w->registry == NULL)
		fail_msg("%s", err.text);
	w->fetcher = fetcher_new(w->loop);
	w->user = user_authenticated("tester", NULL, groups, 1);
	assert_int_equal(tls_pki_make_ca("test", &validity, &w->ca, &err), 0);
	w->ca_bundle = base64_encode(BASE64_STD, w->ca.cert, w->ca.cert_len);
	world_put(w, "", "namespaces",
		  "{'apiVersion':'v1','kind':'Namespace','metadata':"
		  "{'name':'w','labels':{'team':'red'}}}");
	world_settle(w);
	*state = w;
	return 0;
}

int
world_tear_down(void **state)
{
	struct world *w = *state;
	struct err err;
	int result;

	fetcher_free(w->fetcher);
	registry_free(w->registry);
	store_close(w->store);
	loop_timer_free(w->deadline);
	loop_free(w->loop);
	user_unref(w->user);
	tls_pki_pem_done(&w->ca);
	free(w->ca_bundle);
	result = path_remove_tree(w->dir, &err);
	free(w);
	return result;
}

json_t *
world_parse(const char *text)
{
	AUTO(free_ptr) char *copy = xstrdup(text);
	struct err err;
	json_t *value;

	for (char *c = copy; *c != '\0'; c++) {
		if (*c == '\'')
			*c = '"';
	}
	value = js_parse(copy, strlen(copy), &err);
	if (value == NULL)
		fail_msg("%s: %s", err.text, copy);
	return value;
}

static struct kind *
kind_of(const struct world *w, const char *group, const char *plural)
{
	struct kind *kind = registry_by_resource(w->registry, group, plural);

	if (kind == NULL)
		fail_msg("no kind '%s.%s'", plural, group);
	return kind;
}

void
world_put_json(struct world *w, const char *group, const char *plural,
	       json_t *obj)
{
	struct kind *kind = kind_of(w, group, plural);
	uint64_t rv = store_next_rv(w->store);
	struct object *object;
	char number[32];
	size_t len;
	char *text;

	(void)snprintf(number, sizeof(number), "%" PRIu64, rv);
	(void)json_object_set_new(js_make_obj_at(obj, "metadata"),
				  "resourceVersion", json_string(number));
	text = js_text_sorted(obj, &len);
	object = object_new(kind->collection, rv, text, len);
	assert_non_null(object);
	store_put(kind->collection, object);
}

void
world_put(struct world *w, const char *group, const char *plural,
	  const char *text)
{
	AUTO(js_unref) json_t *obj = world_parse(text);

	world_put_json(w, group, plural, obj);
}

void
world_remove(struct world *w, const char *group, const char *plural,
	     const char *ns, const char *name)
{
	struct kind *kind = kind_of(w, group, plural);
	struct object *old = store_get(kind->collection, ns, name);

	assert_non_null(old);
	store_remove(kind->collection,
		     object_new(kind->collection, store_next_rv(w->store),
				xstrndup(old->text, old->len), old->len));
}

json_t *
world_get(const struct world *w, const char *group, const char *plural,
	  const char *ns, const char *name)
{
	const struct object *object =
		store_get(kind_of(w, group, plural)->collection, ns, name);

	return object != NULL ? object_json(object) : NULL;
}

void
world_settle(struct world *w)
{
	struct err err;

	assert_int_equal(store_flush(w->store, &err), 0);
}

void
world_run(struct world *w)
{
	loop_timer_start(w->deadline, DEADLINE_US);
	loop_run(w->loop);
	loop_timer_stop(w->deadline);
}

struct admission_request
world_create(const struct world *w, const char *group, const char *plural,
	     const char *text)
{
	const struct kind *kind = kind_of(w, group, plural);
	json_t *obj = world_parse(text);

	return (struct admission_request){
		.op = ADMISSION_CREATE,
		.kind = kind,
		.version = kind->storage,
		.subresource = "",
		.namespace_ = js_str_at(obj, "metadata.namespace"),
		.name = js_str_at(obj, "metadata.name"),
		.user = w->user,
		.object = obj,
	};
}

struct admission_request
world_update(const struct world *w, const char *group, const char *plural,
	     const char *text)
{
	struct admission_request req = world_create(w, group, plural, text);

	req.op = ADMISSION_UPDATE;
	req.old = world_get(w, group, plural, req.namespace_, req.name);
	assert_non_null(req.old);
	return req;
}

void
world_request_done(struct admission_request *req)
{
	json_decref(req->object);
	json_decref(req->old);
	json_decref(req->options);
	json_decref(req->warnings);
	memset(req, 0, sizeof(*req));
}

void
outcome_done(int result, struct status *st, void *arg)
{
	struct outcome *o = arg;

	assert_false(o->called);
	o->called = true;
	o->result = result;
	status_done(&o->st);
	o->st = *st;
	*st = STATUS_INIT;
	loop_stop(o->w->loop);
}

int
outcome_wait(struct outcome *o)
{
	if (!o->called)
		world_run(o->w);
	assert_true(o->called);
	return o->result;
}

void
assert_outcome(struct outcome *o, int code, const char *reason,
	       const char *message)
{
	int result = outcome_wait(o);

	if (code == 0) {
		if (result != 0)
			fail_msg("refused: %d %s", o->st.code, o->st.message);
	} else {
		assert_int_equal(result, -1);
		assert_string_equal(o->st.message, message);
		assert_int_equal(o->st.code, code);
		if (reason != NULL)
			assert_string_equal(o->st.reason, reason);
		else
			assert_null(o->st.reason);
	}
	status_done(&o->st);
	o->called = false;
}

static int
listen_anywhere(unsigned *ret_port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_not_equal(fd, -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

unsigned
backend_free_port(void)
{
	unsigned port;
	int fd = listen_anywhere(&port);

	assert_int_equal(close(fd), 0);
	return port;
}

static struct tls_https *
backend_tls(const struct world *w)
{
	static const char *const names[] = { "svc.w.svc", "localhost",
					     "127.0.0.1", NULL };
	const struct tls_pki_subject subject = {
		.common_name = "backend",
		.names = names,
		.validity = tls_pki_days(CERT_DAYS),
		.usage = TLS_PKI_SERVER,
	};
	struct tls_pki_pem pem = { .cert = NULL };
	struct tls_https *tls;
	struct err err;

	assert_int_equal(tls_pki_make_cert(&w->ca, &subject, &pem, &err), 0);

	const struct tls_https_pem context = {
		.cert = pem.cert,
		.cert_len = pem.cert_len,
		.key = pem.key,
		.key_len = pem.key_len,
		.client_ca = w->ca.cert,
		.client_ca_len = w->ca.cert_len,
		.name = "backend",
	};

	assert_int_equal(tls_https_new(&context, &tls, &err), 0);
	tls_pki_pem_done(&pem);
	return tls;
}

void
backend_start(struct backend *b, struct world *w,
	      void (*handle)(struct http_request *req, void *arg), void *arg)
{
	struct tls_https *tls = backend_tls(w);
	int fd = listen_anywhere(&b->port);
	const struct http_config config = {
		.loop = w->loop,
		.listen_fd = fd,
		.tls = tls,
		.handle = handle,
		.arg = arg,
	};

	assert_int_equal(listen(fd, SOMAXCONN), 0);
	b->server = http_server_new(&config);
	assert_non_null(b->server);
	tls_https_unref(tls);
}

void
backend_stop(struct backend *b)
{
	http_server_free(b->server);
	b->server = NULL;
}
