/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_REVIEW_H
#define CLUSTER_ADMIT_REVIEW_H

/*
 * review - AdmissionReview: the question to a webhook and its answer.
 *
 * Threading: any thread, with values of its own.
 */

#include "base/js.h"
#include "meta/names.h"
#include "meta/status.h"

struct admission_request;
struct fetch_result;
struct hook;
struct kind_version;

/*
 * The object with the request, in the version that the hook wants to see. A
 * new reference, which shares no container with the request's; NULL for NULL.
 */
json_t *review_convert(const json_t *obj, const struct admission_request *req,
		       const struct kind_version *version);

/* The question, with a new uid that the answer must have; a new reference. */
json_t *review_new(const struct hook *hook, const struct admission_request *req,
		   const struct kind_version *version,
		   char ret_uid[NAME_UUID_SIZE]);

enum review_result {
	REVIEW_ALLOWED,
	REVIEW_DENIED, /* in status */
	REVIEW_FAILED, /* no usable answer; why says what was wrong */
};

struct review_answer {
	enum review_result result;
	json_t *patch;        /* operations of a JSON patch; NULL: none */
	json_t *warnings;     /* texts; NULL: none */
	struct status status; /* of REVIEW_DENIED */
	char *why;            /* of REVIEW_FAILED, as Kubernetes words it */
};

#define REVIEW_ANSWER_INIT ((struct review_answer){ .result = REVIEW_FAILED })

void review_answer_done(struct review_answer *answer);

/* Never fails: what cannot be understood is REVIEW_FAILED. */
void review_read(const struct hook *hook, const char *uid,
		 const struct fetch_result *result,
		 struct review_answer *ret_answer);

/* The answer of somebody who was not asked. */
void review_fail(struct review_answer *ret_answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
