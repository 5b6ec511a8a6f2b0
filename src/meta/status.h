/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_STATUS_H
#define META_STATUS_H

/*
 * status - why the API refuses a request, in the words of Kubernetes.
 *
 * What fails on behalf of a client returns 0 or -1 and takes a struct status
 * last, which it fills only when it returns -1. Unlike struct err it owns
 * memory: it starts as STATUS_INIT, is emptied with status_done(), and may be
 * filled again, which drops what was there.
 *
 * The texts are part of the API: clients show them and some compare them.
 * Threading: any thread, but a status belongs to one at a time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct causes;
struct err;

/* A resource as messages name it: "pods", "vmis.kubevirt.io". */
struct gr {
	const char *group; /* "" or NULL for the core group */
	const char *resource;
};

struct status {
	int code;           /* of HTTP; 0: nothing has failed */
	const char *reason; /* "NotFound", or NULL for none */
	char *message;
	json_t *details;       /* an object, or NULL */
	unsigned retry_after;  /* seconds, also for the header; 0: none */
	char *continue_token;  /* metadata.continue of an expired list; NULL */
	char *reason_of_other; /* where reason points if it came from outside */
};

#define STATUS_INIT ((struct status){ .code = 0 })

/* Frees the contents; st is then as STATUS_INIT. Also for AUTO(). */
void status_done(struct status *st);

/* Each fills st and returns -1. reason must be a literal, or NULL. */
int status_set(struct status *st, int code, const char *reason, const char *fmt,
	       ...) __attribute__((format(printf, 4, 5)));
int status_bad_request(struct status *st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int status_unauthorized(struct status *st);
int status_not_found(struct status *st, const struct gr *gr, const char *name);
/* A path that leads nowhere: "the server could not find the requested ...". */
int status_no_route(struct status *st);
int status_already_exists(struct status *st, const struct gr *gr,
			  const char *name);
/* "Operation cannot be fulfilled on GR "NAME": WHY". */
int status_conflict(struct status *st, const struct gr *gr, const char *name,
		    const char *why);
/* The same with the words for an object that changed underneath. */
int status_modified(struct status *st, const struct gr *gr, const char *name);
/* gr may be NULL (a path that is no resource), name NULL or "". */
int status_forbidden(struct status *st, const struct gr *gr, const char *name,
		     const char *why);
/* "KIND.GROUP "NAME" is invalid: ...", with one cause for each of causes. */
int status_invalid(struct status *st, const char *group, const char *kind,
		   const char *name, const struct causes *causes);
/* 422 in general words and without details. */
int status_rejected(struct status *st);
int status_too_large(struct status *st, size_t limit_bytes);
/* accepted: the media types, separated by ", ". */
int status_unsupported_media(struct status *st, const char *accepted);
int status_not_acceptable(struct status *st, const char *accepted);
/* With gr: "ACTION is not supported on resources of kind ...". NULL: in
 * general words. */
int status_method_not_allowed(struct status *st, const struct gr *gr,
			      const char *action);
/* retry_after 0: the client is not told when to come again. */
int status_too_many(struct status *st, unsigned retry_after, const char *fmt,
		    ...) __attribute__((format(printf, 3, 4)));
/* "Timeout: ...", to be tried again after a second. */
int status_timeout(struct status *st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int status_expired(struct status *st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int status_gone(struct status *st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "Internal error occurred: ...", the same text without this as cause. */
int status_internal(struct status *st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int status_unavailable(struct status *st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* What a part of the program said: its kind chooses code and reason. */
int status_from_err(struct status *st, const struct err *err);

/* Appends to details.causes; reason, message and field may be NULL. */
void status_add_cause(struct status *st, const char *reason,
		      const char *message, const char *field);

/* The object of kind Status; a new reference. */
json_t *status_json(const struct status *st);

/* A Status that tells of success. code 0: without; details may be NULL, and
 * its reference is taken. */
json_t *status_success_json(int code, json_t *details);

/*
 * Takes over the code, reason, message and details of an object of kind
 * Status, or of one shaped so (what a webhook or a server answers). Members
 * that are missing or of a wrong type count as absent; a code that is not one
 * of HTTP's errors is default_code. Always returns -1, as the others do.
 */
int status_from_json(struct status *st, const json_t *obj, int default_code);

/* The analyzer sees one file at a time and would not know that these fail. */
#ifdef __clang_analyzer__
#define status_set(...) ((void)(status_set)(__VA_ARGS__), -1)
#define status_bad_request(...) ((void)(status_bad_request)(__VA_ARGS__), -1)
#define status_internal(...) ((void)(status_internal)(__VA_ARGS__), -1)
#endif

#endif
