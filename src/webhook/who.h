/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_WHO_H
#define WEBHOOK_WHO_H

/*
 * who - which of Ferry's own programs a user is.
 *
 * They are the service accounts of one namespace, by KubeVirt's names.
 * Threading: any thread.
 */

#include "api/check.h"

enum who {
	WHO_OTHER,
	WHO_API,
	WHO_CONTROLLER,
	WHO_HANDLER,
	WHO_OPERATOR,
	WHO_COUNT,
};

/* The node of a token that is bound to a pod or to the node. */
#define WHO_EXTRA_NODE "authentication.kubernetes.io/node-name"

/* user is "system:serviceaccount:NS:NAME", or somebody else. */
enum who who_is(const char *user, const char *ns);
struct check_user who_check_user(const char *user, const char *ns);

#endif
