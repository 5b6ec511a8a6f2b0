/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_REGISTRATION_H
#define CLUSTER_ADMIT_REGISTRATION_H

/*
 * registration - whether a webhook configuration or an APIService can work.
 *
 * What Kubernetes checks beyond the schema when one is written: names, where
 * the server is, how it is verified. matchConditions are refused: they are
 * written in a language that is not spoken here, and a webhook without its
 * conditions would be asked about what does not concern it.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

struct admission_request;
struct status;

/* Whether the request writes one of these kinds. */
bool registration_concerns(const struct admission_request *req);

/* 0, or -1 with 422. */
int registration_check(const struct admission_request *req, struct status *st);

#endif
