/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/api.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config.h"
#include "api/kinds.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "http/server.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/informer.h"
#include "tls/https.h"
#include "version.h"
#include "webhook/access.h"
#include "webhook/call.h"
#include "webhook/route.h"
#include "webhook/trust.h"

#define PEM_MAX (1024UL * 1024)
#define LOOK_US (5UL * 1000 * 1000) /* between looks at the files */
#define HEADER_MS 10000
#define BODY_MS 15000

static void *
decode_config(json_t *object, void *arg)
{
	struct kubevirt_config *config;
	struct err err;

	(void)arg;
	config = kubevirt_config_decode(object, &err);
	if (config == NULL)
		log_error(NULL, "the KubeVirt object, ignoring it: %s",
			  err.text);
	return config;
}

static void
release_config(void *view, void *arg)
{
	(void)arg;
	kubevirt_config_free(view);
}

const struct kubevirt_config *
api_config(const struct api *api)
{
	const struct cache *cache = informer_cache(api->kubevirts);
	const struct cache_object *object;
	struct cache_walk walk;

	if (!informer_has_synced(api->kubevirts))
		return NULL;
	object = cache_get(cache, api->ns, API_KUBEVIRT);
	if (object == NULL) {
		/* Another name will do, where there is but one. */
		walk = cache_all(cache);
		object = cache_walk_next(&walk);
	}
	return object == NULL || object->view == NULL ? api->defaults
						      : object->view;
}

const char *
api_missing(const struct api *api)
{
	if (!informer_has_synced(api->kubevirts))
		return "the KubeVirt object has not been read yet";
	if (!trust_is_known(api->trust))
		return "the requestheader CA has not been read yet";
	return NULL;
}

static int
make_tls(const struct api *api, const char *cert, const char *key,
	 struct tls_https **ret, struct err *err)
{
	const char *ca = trust_ca(api->trust);
	const struct tls_https_pem pem = {
		.cert = cert,
		.cert_len = strlen(cert),
		.key = key,
		.key_len = strlen(key),
		.client_ca = ca,
		.client_ca_len = ca == NULL ? 0 : strlen(ca),
		.caller_ca = api->webhook_ca,
		.caller_ca_len =
			api->webhook_ca == NULL ? 0 : strlen(api->webhook_ca),
		.name = api->cert_file,
	};

	return tls_https_new(&pem, ret, err);
}

static struct http_server *
make_server(struct api *api)
{
	const struct http_config config = {
		.loop = api->loop,
		.listen_fd = fcntl(api->listen_fd, F_DUPFD_CLOEXEC, 0),
		.tls = api->tls,
		.limits = { .connections = API_CONNECTIONS,
			    .body_bytes = API_BODY_MAX,
			    .header_ms = HEADER_MS,
			    .body_ms = BODY_MS },
		.handle = route_handle,
		.arg = api,
	};

	return http_server_new(&config);
}

static void
old_is_empty(void *arg)
{
	struct api *api = arg;

	http_server_free(api->old);
	api->old = NULL;
}

/*
 * A connection is verified once, by the CA of its time: what was made under
 * another CA must not stay, neither for being believed nor for not being. The
 * request it came with is still answered, as those are that came before the
 * change.
 */
static void
renew_connections(struct api *api)
{
	if (api->http == NULL)
		return;
	http_server_free(api->old);
	api->old = api->http;
	api->http = make_server(api);
	http_server_drain(api->old, old_is_empty, api);
}

static void
use_tls(struct api *api, struct tls_https *tls)
{
	tls_https_unref(api->tls);
	api->tls = tls;
	if (api->http != NULL)
		http_server_set_tls(api->http, tls);
}

static void
ca_changed(void *arg)
{
	struct api *api = arg;
	struct tls_https *tls;
	struct err err;

	if (make_tls(api, api->cert, api->key, &tls, &err) == -1) {
		log_error(NULL, "the requestheader CA, ignoring it: %s",
			  err.text);
		return;
	}
	use_tls(api, tls);
	renew_connections(api);
	log_info(NULL, "using a new requestheader CA");
}

static int
read_pair(const struct api *api, char **ret_cert, char **ret_key,
	  struct err *err)
{
	AUTO(free_ptr) char *cert = NULL;
	AUTO(free_ptr) char *key = NULL;
	size_t len;

	if (path_read_file(api->cert_file, PEM_MAX, &cert, &len, err) == -1 ||
	    path_read_file(api->key_file, PEM_MAX, &key, &len, err) == -1)
		return -1;
	*ret_cert = TAKE_PTR(cert);
	*ret_key = TAKE_PTR(key);
	return 0;
}

/* Half of a new pair may be there already: that is for the next look. */
static void
look(void *arg)
{
	struct api *api = arg;
	AUTO(free_ptr) char *cert = NULL;
	AUTO(free_ptr) char *key = NULL;
	struct tls_https *tls;
	struct err err;

	loop_timer_start(api->look, LOOK_US);
	if (read_pair(api, &cert, &key, &err) == -1) {
		log_warning(NULL, "cannot read the certificate, ignoring: %s",
			    err.text);
		return;
	}
	if (strcmp(cert, api->cert) == 0 && strcmp(key, api->key) == 0)
		return;
	if (make_tls(api, cert, key, &tls, &err) == -1) {
		log_warning(NULL, "a new certificate, ignoring it for now: %s",
			    err.text);
		return;
	}
	use_tls(api, tls);
	free(api->cert);
	free(api->key);
	api->cert = TAKE_PTR(cert);
	api->key = TAKE_PTR(key);
	log_info(NULL, "using a new certificate");
}

static void
start_client(struct api *api, const struct api_options *options)
{
	const struct kube_client_options client = {
		.loop = options->loop,
		.config = options->config,
		.user_agent = "ferry-api/" FERRY_VERSION,
		.qps = options->qps == 0 ? API_QPS : options->qps,
		.burst = options->burst == 0 ? API_BURST : options->burst,
		.in_flight = API_IN_FLIGHT,
	};
	struct informer_config kubevirts = {
		.resource = api_kubevirts,
		.ns = api->ns,
		.cache = { .decode = decode_config, .release = release_config },
	};

	api->client = kube_client_new(&client);
	kubevirts.client = api->client;
	api->kubevirts = informer_new(&kubevirts);
	api->access = access_new(api->client);
	informer_start(api->kubevirts);
}

static int
start_trust(struct api *api, const struct api_options *options, struct err *err)
{
	static const struct opts_list none = { 0 };
	AUTO(free_ptr) char *ca = NULL;
	struct trust_config config = {
		.client = api->client,
		.allowed_names = options->allowed_names == NULL
					 ? &none
					 : options->allowed_names,
		.changed = ca_changed,
		.arg = api,
	};
	size_t len;

	if (options->requestheader_ca_file != NULL) {
		if (path_read_file(options->requestheader_ca_file, PEM_MAX, &ca,
				   &len, err) == -1)
			return -1;
		config.ca_pem = ca;
	}
	api->trust = trust_new(&config);
	return 0;
}

static int
read_webhook_ca(struct api *api, const char *file, struct err *err)
{
	size_t len;

	if (file == NULL)
		return 0;
	return path_read_file(file, PEM_MAX, &api->webhook_ca, &len, err);
}

struct api *
api_start(const struct api_options *options, struct err *err)
{
	struct api *api = xmalloc0(sizeof(*api));

	api->loop = options->loop;
	api->listen_fd = options->listen_fd;
	api->ns = xstrdup(options->ns);
	api->cert_file = xstrdup(options->cert_file);
	api->key_file = xstrdup(options->key_file);
	api->defaults = kubevirt_config_decode(NULL, err);
	start_client(api, options);
	if (start_trust(api, options, err) == -1 ||
	    read_webhook_ca(api, options->webhook_ca_file, err) == -1 ||
	    read_pair(api, &api->cert, &api->key, err) == -1 ||
	    make_tls(api, api->cert, api->key, &api->tls, err) == -1) {
		api_free(api);
		return NULL;
	}
	api->http = make_server(api);
	api->look = loop_timer_new(api->loop, look, api);
	loop_timer_start(api->look, LOOK_US);
	return api;
}

void
api_drain(struct api *api, void (*done)(void *arg), void *arg)
{
	http_server_drain(api->http, done, arg);
}

void
api_free(struct api *api)
{
	if (api == NULL)
		return;
	while (api->calls != NULL)
		call_abort(api->calls);
	loop_timer_free(api->look);
	http_server_free(api->old);
	http_server_free(api->http);
	tls_https_unref(api->tls);
	trust_free(api->trust);
	access_free(api->access);
	informer_free(api->kubevirts);
	kube_client_free(api->client);
	kubevirt_config_free(api->defaults);
	close_fd(&api->listen_fd);
	free(api->ns);
	free(api->cert_file);
	free(api->key_file);
	free(api->cert);
	free(api->key);
	free(api->webhook_ca);
	free(api);
}
