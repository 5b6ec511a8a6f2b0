/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_API_H
#define WEBHOOK_API_H

/*
 * api - the server: what listens, what it knows of the cluster, and the calls
 * that are under way.
 *
 * The KubeVirt object is followed by an informer, as its reader may be a moment
 * behind. Machines, migrations and pods are read when they are asked about: a
 * cache could be behind the very write that led to the question.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/opts.h"
#include "webhook/stats.h"

struct access;
struct call;
struct err;
struct http_request;
struct http_server;
struct informer;
struct kube_client;
struct kube_config;
struct kubevirt_config;
struct loop;
struct tls_https;
struct trust;

#define API_NAMESPACE "kubevirt"
#define API_KUBEVIRT "kubevirt" /* the name of the KubeVirt object */
#define API_LISTEN "[::]:8443"
/* Two machines of the largest size in one question, and what is around. */
#define API_BODY_MAX (8UL * 1024 * 1024)
#define API_CONNECTIONS 1024
/* A migration costs two reads, and a thousand may be made at once. */
#define API_QPS 2000
#define API_BURST 4000
#define API_IN_FLIGHT 256

struct api_options {
	struct loop *loop;
	struct kube_config *config; /* taken, on failure too */
	int listen_fd;              /* taken, on failure too */
	const char *ns;             /* of Ferry's service accounts */
	const char *cert_file, *key_file;
	/* NULL: as the cluster publishes it, see trust.h. */
	const char *requestheader_ca_file;
	const struct opts_list *allowed_names;
	/* Of those who may ask for reviews; NULL: everybody. */
	const char *webhook_ca_file;
	unsigned qps, burst; /* 0: the default above */
};

struct api {
	struct loop *loop;
	char *ns;
	struct kube_client *client;
	struct informer *kubevirts;
	struct kubevirt_config
		*defaults; /* where there is no KubeVirt object */
	struct trust *trust;
	struct access *access;
	struct call *calls; /* under way */
	struct stats stats;

	int listen_fd;
	struct http_server *http;
	struct http_server *old; /* its last answers are under way */
	struct tls_https *tls;
	struct loop_timer *look; /* at the files */
	char *cert_file, *key_file;
	char *cert, *key; /* as they are served */
	char *webhook_ca; /* NULL: everybody may ask for reviews */
};

/* The texts are copied. Serves when it returns; NULL on failure. */
struct api *api_start(const struct api_options *options, struct err *err);
/* Answers what is under way and no more; done is called when that is over. */
void api_drain(struct api *api, void (*done)(void *arg), void *arg);
void api_free(struct api *api); /* NULL is fine */

/* NULL: not read yet. */
const struct kubevirt_config *api_config(const struct api *api);
/* Whether it can answer: NULL, or what is missing. */
const char *api_missing(const struct api *api);

#endif
