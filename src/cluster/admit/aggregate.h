/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_AGGREGATE_H
#define CLUSTER_ADMIT_AGGREGATE_H

/*
 * aggregate - API groups that another server answers for.
 *
 * An APIService with a service in its spec hands /apis/GROUP/VERSION to that
 * service. Requests go there over TLS with the front proxy's certificate; who
 * asks is in X-Remote-User, X-Remote-Uid, X-Remote-Group and
 * X-Remote-Extra-*. The client's own headers of these names, its Authorization
 * and what concerns only the connection are not passed on. The answer comes
 * back as it arrives, so watches work; a client that reads slowly slows the
 * server down, not us.
 *
 * The service is looked for as service.h says. Its discovery document is asked
 * for when something about it changed and every AGGREGATE_CHECK_MS; the result
 * is the APIService's condition Available, written to the store, and the
 * resources are shown in discovery. While it is not
 * available every request is answered 503.
 *
 * A request that is no watch has AGGREGATE_REQUEST_MS. Not done: connections
 * that are upgraded (websockets) are refused with 501.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

#define AGGREGATE_CHECK_MS 30000
#define AGGREGATE_REQUEST_MS 60000

struct aggregate;
struct discovery;
struct fetcher;
struct http_request;
struct loop;
struct store;
struct user;

struct aggregate_config {
	struct loop *loop;
	struct store *store;
	struct fetcher *fetcher;
	const char *proxy_cert_pem; /* the front proxy's certificate and key; */
	const char *proxy_key_pem;  /* NULL: none is shown */
	struct discovery *discovery; /* is told of the groups; NULL: nobody */
};

/* Follows the APIServices of the store. The texts are copied; the rest must
 * outlive what is returned. */
struct aggregate *aggregate_new(const struct aggregate_config *config);
/* Cuts all that is being proxied. NULL is fine. */
void aggregate_free(struct aggregate *agg);

/* Whether requests below /apis/GROUP/VERSION belong to another server. */
bool aggregate_owns(const struct aggregate *agg, const char *group,
		    const char *version);

/* Answers the request, sooner or later; it must be for a group version that
 * aggregate_owns(). The user is not needed after the call. */
void aggregate_handle(struct aggregate *agg, const char *group,
		      const char *version, struct http_request *req,
		      const struct user *user);

#endif
