/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CALL_H
#define CLUSTER_CALL_H

/*
 * call - one request on its way through the server, and its answer.
 *
 * A call ends with exactly one of the call_reply...() or call_fail()
 * functions, or by becoming a stream that frees it at its end. Between
 * its steps a call may wait for webhooks or for the disk. The client may go
 * away meanwhile: the call then runs to its end, and the answer goes nowhere.
 *
 * A reply leaves when everything that was written before it is on disk, so
 * nobody is ever shown what a crash could take back.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"
#include "cluster/admit/admission.h"
#include "cluster/auth/attributes.h"
#include "cluster/server/accept.h"
#include "cluster/server/info.h"
#include "cluster/server/query.h"
#include "meta/status.h"

struct http_request;
struct kind;
struct kind_version;
struct object;
struct server;
struct server_config;
struct user;

#define CALL_WARNINGS_MAX 64

struct call {
	struct server *server;
	const struct server_config *parts; /* the server's */

	/* Where it came from: one of the two. */
	struct http_request *http;
	void (*done)(int code, const json_t *answer, void *arg);
	void *done_arg;

	struct info info;
	struct query query;
	struct accept accept;
	bool pretty;
	struct user *user;
	struct kind *kind; /* a reference */
	const struct kind_version *version;

	const char *content_type; /* of the body, "" when not given */
	const char *data;         /* the body, the request's */
	size_t len;

	/* What the operation works on. */
	struct write_options write;
	struct delete_options delete_;
	json_t *body;                   /* decoded */
	json_t *object;                 /* as it is going to be */
	json_t *old_json;               /* the stored one, decoded */
	struct object *old;             /* a reference; NULL: none */
	struct admission_request admit; /* points into this call */
	int (*admit_check)(struct call *call);
	int (*settle)(struct call *call, const json_t *given);
	void (*admitted)(struct call *call);
	unsigned tries;
	int code;              /* of the success */
	struct object *result; /* what to show; a reference */

	struct status st;
	char *warning[CALL_WARNINGS_MAX];
	size_t warnings;
};

/*
 * A call for the same user about the same kind, which tells done; its texts
 * are the parent's, which must outlive it. It is not about a subresource.
 */
struct call *call_child(struct call *parent, unsigned verb,
			void (*done)(int code, const json_t *answer, void *arg),
			void *arg);

/* Copied; beyond CALL_WARNINGS_MAX they are dropped. */
void call_warn(struct call *call, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Sends call->st; if the call was to write, when all that was written is on
 * disk. A write is held against the newest state: who is told that something
 * exists already, or has changed, must find it so when he looks.
 */
void call_fail(struct call *call);

/* Sends an object of the call's kind in the form that was asked for. */
void call_reply_object(struct call *call, int code, struct object *object);
/* The same for one that is not stored (dry run, a deleted one). */
void call_reply_json(struct call *call, int code, json_t *object);
/* Sends JSON (or YAML) that is no object of the kind: reviews, lists, ... */
void call_reply_plain(struct call *call, int code, const json_t *value);
/* "Success", with the details of what was deleted when name is not NULL. */
void call_reply_success(struct call *call, int code, const char *name,
			const char *uid);
/* Text that is already there. content_type NULL: JSON. */
void call_reply_text(struct call *call, int code, const char *content_type,
		     const char *text, size_t len);

/* Makes an answer to HTTP a stream, with the call's warnings in its head. The
 * caller ends it and frees the call. */
void call_stream_begin(struct call *call, const char *content_type);

/* Runs fn(call) when all that was written is on disk; or fails the call. */
void call_when_durable(struct call *call, void (*fn)(struct call *call));

/* The resource the call is about, for Status texts. */
struct gr call_gr(const struct call *call);

/* The name of what it is about: the path's, or the one in its object. */
const char *call_name(const struct call *call);

/* What it does, for those who decide whether it may. */
struct attributes call_attributes(const struct call *call);

/* The Kubernetes apiVersion of the version that was asked for; static for the
 * call's life. */
const char *call_api_version(const struct call *call);

void call_free(struct call *call);

#endif
