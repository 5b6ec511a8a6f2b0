/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_REVIEW_H
#define CLUSTER_AUTH_REVIEW_H

/*
 * review - the kinds that are questions about who somebody is and what he may
 * do. They are created and answered, never stored.
 *
 * Each takes the decoded body, which is only read, and gives in *ret the same
 * object with its status (a new reference, 201), or -1 and an error in st.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"

struct authn;
struct authz;
struct status;
struct user;

/* Who answers, and who asks. */
struct review {
	struct authn *authn;
	struct authz *authz;
	const struct user *user;
	const char *namespace_; /* of the URL; empty for cluster kinds */
};

/*
 * The answer to a review of this kind: SelfSubjectAccessReview,
 * SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectRulesReview (group
 * authorization.k8s.io), SelfSubjectReview, TokenReview
 * (authentication.k8s.io). Any other kind is a 404.
 */
int review_answer(const struct review *review, const char *kind,
		  const json_t *body, json_t **ret, struct status *st);

#endif
