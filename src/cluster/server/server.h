/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_SERVER_H
#define CLUSTER_SERVER_H

/*
 * server - the Kubernetes API in front of the store.
 *
 *	HTTP or in-process -> call -> authentication -> authorization -> verb
 *
 * One thread, the loop's. The parts it puts together (store, registry, auth,
 * admission, aggregation) are made by the program and outlive the server.
 */

#include <stddef.h>
#include <stdint.h>

struct admission;
struct aggregate;
struct authn;
struct authz;
struct discovery;
struct fetcher;
struct http_request;
struct loop;
struct openapi;
struct registry;
struct server;
struct store;
struct tokens;

/* As a real server's: what a request's body may be at most. */
#define SERVER_BODY_MAX (3U * 1024 * 1024)
/* What may be stored of one object, as etcd's limit on a request. */
#define SERVER_OBJECT_MAX (1536U * 1024)
/* An update without a resourceVersion is tried again so often. */
#define SERVER_UPDATE_TRIES 8

struct server_config {
	struct loop *loop;
	struct store *store;
	struct registry *registry;
	struct authn *authn;
	struct authz *authz;
	struct tokens *tokens;
	struct admission *admission;
	struct aggregate *aggregate; /* NULL: none */
	struct discovery *discovery;
	struct openapi *openapi;
	/* For the logs of pods; see log.h. The texts are not copied. */
	struct fetcher *fetcher; /* NULL: there are none */
	const char *kubelet_ca_pem;
	const char *kubelet_cert_pem; /* the server's, as a client */
	const char *kubelet_key_pem;
};

struct server *server_new(const struct server_config *config);
/* Ends all watches; calls in flight must have ended. */
void server_free(struct server *server);

/* For http_config.handle: arg is the server. */
void server_handle(struct http_request *request, void *arg);

/* Watches end cleanly and new requests get 503: the program is about to end. */
void server_drain(struct server *server);

#endif
