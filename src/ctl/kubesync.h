/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_KUBESYNC_H
#define CTL_KUBESYNC_H

/*
 * kubesync - requests to an API server for commands, which wait for the
 * answer.
 *
 * Threading: one thread.
 */

#include <stdbool.h>

#include "base/js.h"
#include "kube/client.h"
#include "kube/config.h"

struct err;
struct kube_flags;
struct kubesync;
struct loop;

/* kubeconfig NULL: as kubectl finds it. */
struct kubesync *kubesync_open(const struct kube_flags *flags, struct err *err);
void kubesync_free(struct kubesync *ks); /* NULL is fine */
/* The namespace that flags and configuration name. */
const char *kubesync_ns(const struct kubesync *ks);
struct loop *kubesync_loop(const struct kubesync *ks);
struct kube_client *kubesync_client(const struct kubesync *ks);

/*
 * Where the server did not say why it does not know who asks: puts before the
 * error that the client's certificate is out of date, if it is. Returns -1.
 */
int kubesync_blame(const struct kubesync *ks, struct err *err);

/*
 * Sends and waits. *ret_answer (may be NULL) is a new reference, NULL when
 * there is no body. Failures are the server's message, with the kind that its
 * code means.
 */
int kubesync_send(struct kubesync *ks, const struct kube_request *request,
		  json_t **ret_answer, struct err *err);

/* Creates an object, or makes the one that is there the same. The kind must be
 * one of those that Ferry installs. */
int kubesync_apply(struct kubesync *ks, const json_t *object, struct err *err);
/* The same for all documents of a text of YAML. */
int kubesync_apply_yaml(struct kubesync *ks, const char *text, size_t len,
			struct err *err);

#endif
