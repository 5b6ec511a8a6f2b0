/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_CLIENTERROR_H
#define CLUSTER_ADMIT_CLIENTERROR_H

/*
 * clienterror - what Kubernetes' own client says about an answer that is none.
 *
 * Threading: any thread, with values of its own.
 */

struct err;
struct fetch_result;

/* NULL when the request went well, with a code below 300; else a text to be
 * freed: the client's, a Status' message, or words for the code. */
char *clienterror_text(const struct fetch_result *result);

/* Words for a body that is no JSON object; err is what our own parser said. To
 * be freed. */
char *clienterror_parse(const char *body, const struct err *err);

#endif
