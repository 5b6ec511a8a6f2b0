/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_BODY_H
#define CLUSTER_BODY_H

/*
 * body - what a client sends: JSON, YAML or protobuf, to one form.
 *
 * Errors are those of the real server's decoder. Members that are given twice
 * are reported as call->st says for fieldValidation: collected by the caller.
 */

#include <stddef.h>

#include "base/js.h"
#include "cluster/server/query.h"

struct call;
struct err;

/* Fields that are given twice or that no schema knows, in order. */
struct strict_errors {
	char **text; /* "duplicate field \"spec.a\"" */
	size_t count;
};
void strict_errors_done(struct strict_errors *errors);
void strict_errors_add(struct strict_errors *errors, const char *what,
		       const char *path);

/*
 * Decodes the call's body as an object of the kind named in messages. An empty
 * body is an error. *ret is a new reference.
 */
int body_decode(struct call *call, const char *kind,
		struct strict_errors *errors, json_t **ret);

/*
 * What is wrong with a body that is not JSON, in Kubernetes' words where there
 * are any, else in err's; to be freed.
 */
char *body_json_fault(const struct call *call, const struct err *err);

/* DeleteOptions and the like: an empty body is fine, *ret is NULL then. */
int body_decode_options(struct call *call, json_t **ret);

/*
 * Acts on what was collected: warnings, or a 400 when validation is strict.
 */
int body_report(struct call *call, const char *kind,
		const struct strict_errors *errors);

/*
 * Whether apiVersion and kind of a body are those of the path, or missing
 * where that is allowed.
 */
int body_check_kind(struct call *call, json_t *object);

#endif
