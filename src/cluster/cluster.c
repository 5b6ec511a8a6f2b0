/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission.h"
#include "cluster/admit/aggregate.h"
#include "cluster/auth/aggregation.h"
#include "cluster/auth/authn.h"
#include "cluster/auth/authz.h"
#include "cluster/auth/bootstrap.h"
#include "cluster/auth/tokens.h"
#include "cluster/cluster.h"
#include "cluster/control/control.h"
#include "cluster/crds.h"
#include "cluster/home.h"
#include "cluster/kinds/discovery.h"
#include "cluster/kinds/openapi.h"
#include "cluster/kinds/registry.h"
#include "cluster/published.h"
#include "cluster/server/client.h"
#include "cluster/server/server.h"
#include "cluster/store/store.h"
#include "http/server.h"
#include "kube/fetch.h"
#include "tls/https.h"
#include "tls/jwt.h"

#define TOKEN_ISSUER "https://kubernetes.default.svc.cluster.local"

/* In the order in which they are made; freed the other way round. */
struct cluster {
	struct home *home;
	struct store *store;
	struct registry *registry;
	struct crds *crds;
	struct jwt_key *token_key;
	struct tokens *tokens;
	struct authn *authn;
	struct authz *authz;
	struct aggregation *aggregation;
	struct fetcher *fetcher;
	struct admission *admission;
	struct discovery *discovery;
	struct openapi *openapi;
	struct aggregate *aggregate;
	struct server *server;
	struct control *control;
	struct tls_https *tls;
	struct http_server *http;
};

static struct collection *
collection_for(void *arg, const char *group, const char *resource)
{
	return store_collection(arg, group, resource);
}

static int
open_store(struct cluster *cluster, const struct cluster_config *config,
	   struct err *err)
{
	const struct store_config store = {
		.dir = config->home->dir,
		.loop = config->loop,
		.history_events = config->history_events,
	};

	cluster->store = store_open(&store, err);
	if (cluster->store == NULL)
		return -1;
	cluster->registry = registry_new(collection_for, cluster->store, err);
	if (cluster->registry == NULL)
		return -1;
	cluster->crds = crds_new(cluster->store, cluster->registry, err);
	return cluster->crds == NULL ? -1 : 0;
}

static int
start_auth(struct cluster *cluster, const struct cluster_config *config,
	   struct err *err)
{
	const struct home *home = config->home;
	struct tokens_config tokens = { .store = cluster->store,
					.issuer = TOKEN_ISSUER };

	if (jwt_key_new(home->token_key, strlen(home->token_key), "pki/sa.key",
			&cluster->token_key, err) == -1)
		return -1;
	tokens.key = cluster->token_key;
	cluster->tokens = tokens_new(&tokens);
	cluster->authn = authn_new(config->token_file, cluster->tokens, err);
	if (cluster->authn == NULL ||
	    bootstrap_apply(cluster->store, err) == -1 ||
	    store_flush(cluster->store, err) == -1)
		return -1;
	cluster->authz = authz_new(cluster->store);
	cluster->aggregation = aggregation_new(cluster->store, config->loop);
	return 0;
}

static void
start_admission(struct cluster *cluster, const struct cluster_config *config)
{
	struct admission_config admission = {
		.loop = config->loop,
		.store = cluster->store,
		.registry = cluster->registry,
		.cert_pem = config->home->proxy_cert,
		.key_pem = config->home->proxy_key,
	};
	struct aggregate_config aggregate = {
		.loop = config->loop,
		.store = cluster->store,
		.proxy_cert_pem = config->home->proxy_cert,
		.proxy_key_pem = config->home->proxy_key,
	};
	char address[300];

	(void)snprintf(address, sizeof(address), "%s:%u", config->home->address,
		       (unsigned)config->home->port);
	cluster->fetcher = fetcher_new(config->loop);
	admission.fetcher = aggregate.fetcher = cluster->fetcher;
	cluster->admission = admission_new(&admission);
	cluster->discovery = discovery_new(cluster->registry, address);
	cluster->openapi = openapi_new(cluster->registry);
	aggregate.discovery = cluster->discovery;
	cluster->aggregate = aggregate_new(&aggregate);
}

#define NAMESPACE_SYSTEM "kube-system"

/* What is made when the cluster starts. */
struct birth {
	struct cluster *cluster;
	const char *ns;
};

static void
namespace_made(int code, const json_t *answer, void *arg)
{
	struct birth *birth = arg;

	(void)answer;
	if (code != 201 && code != 409)
		log_error(NULL, "cannot make the namespace %s: code %d",
			  birth->ns, code);
	else if (strcmp(birth->ns, NAMESPACE_SYSTEM) == 0)
		published_write(birth->cluster->server, birth->cluster->home);
	free(birth);
}

static void
make_namespaces(struct cluster *cluster)
{
	static const char *const names[] = { "default", "kube-node-lease",
					     "kube-public", NAMESPACE_SYSTEM };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_t *body = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion",
					 "v1", "kind", "Namespace", "metadata",
					 "name", names[i]);
		const struct client_call call = {
			.user = "system:apiserver",
			.method = "POST",
			.path = "/api/v1/namespaces",
			.body = body,
		};
		struct birth *birth = xmalloc0(sizeof(*birth));

		birth->cluster = cluster;
		birth->ns = names[i];
		client_request(cluster->server, &call, namespace_made, birth);
		json_decref(body);
	}
}

static void
start_server(struct cluster *cluster, const struct cluster_config *config)
{
	const struct server_config server = {
		.loop = config->loop,
		.store = cluster->store,
		.registry = cluster->registry,
		.authn = cluster->authn,
		.authz = cluster->authz,
		.tokens = cluster->tokens,
		.admission = cluster->admission,
		.aggregate = cluster->aggregate,
		.discovery = cluster->discovery,
		.openapi = cluster->openapi,
		.fetcher = cluster->fetcher,
		.kubelet_ca_pem = config->home->ca_cert,
		.kubelet_cert_pem = config->home->kubelet_cert,
		.kubelet_key_pem = config->home->kubelet_key,
	};
	struct control_config control = {
		.loop = config->loop,
		.store = cluster->store,
		.registry = cluster->registry,
		.root_ca_pem = config->home->ca_cert,
		.node_grace_ms = config->node_grace_ms,
		.event_ttl_ms = config->event_ttl_ms,
	};

	cluster->server = server_new(&server);
	make_namespaces(cluster);
	control.server = cluster->server;
	cluster->control = control_new(&control);
}

/* Takes the descriptor in any case. */
static int
start_http(struct cluster *cluster, const struct cluster_config *config,
	   struct err *err)
{
	const struct home *home = config->home;
	const struct tls_https_pem pem = {
		.cert = home->server_cert,
		.cert_len = strlen(home->server_cert),
		.key = home->server_key,
		.key_len = strlen(home->server_key),
		.client_ca = home->ca_cert,
		.client_ca_len = strlen(home->ca_cert),
		.name = "pki/apiserver",
	};
	struct http_config http = {
		.loop = config->loop,
		.listen_fd = config->listen_fd,
		.limits = { .body_bytes = SERVER_BODY_MAX },
		.handle = server_handle,
		.arg = cluster->server,
	};

	if (tls_https_new(&pem, &cluster->tls, err) == -1) {
		(void)close(config->listen_fd);
		return -1;
	}
	http.tls = cluster->tls;
	cluster->http = http_server_new(&http);
	return 0;
}

struct cluster *
cluster_start(const struct cluster_config *config, struct err *err)
{
	struct cluster *cluster = xmalloc0(sizeof(*cluster));

	cluster->home = config->home;
	if (open_store(cluster, config, err) == -1 ||
	    start_auth(cluster, config, err) == -1) {
		(void)close(config->listen_fd);
		cluster_free(cluster);
		return NULL;
	}
	start_admission(cluster, config);
	start_server(cluster, config);
	if (start_http(cluster, config, err) == -1 ||
	    store_flush(cluster->store, err) == -1) {
		cluster_free(cluster);
		return NULL;
	}
	return cluster;
}

void
cluster_drain(struct cluster *cluster, void (*stopped)(void *arg), void *arg)
{
	server_drain(cluster->server);
	http_server_drain(cluster->http, stopped, arg);
}

void
cluster_free(struct cluster *cluster)
{
	struct err err;

	if (cluster == NULL)
		return;
	http_server_free(cluster->http);
	tls_https_unref(cluster->tls);
	control_free(cluster->control);
	aggregate_free(cluster->aggregate);
	admission_free(cluster->admission);
	if (cluster->store != NULL)
		(void)store_flush(cluster->store, &err);
	server_free(cluster->server);
	openapi_free(cluster->openapi);
	discovery_free(cluster->discovery);
	fetcher_free(cluster->fetcher);
	aggregation_free(cluster->aggregation);
	authz_free(cluster->authz);
	authn_free(cluster->authn);
	tokens_free(cluster->tokens);
	jwt_key_free(cluster->token_key);
	crds_free(cluster->crds);
	registry_free(cluster->registry);
	store_close(cluster->store);
	free(cluster);
}
