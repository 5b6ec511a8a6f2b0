/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_FETCH_TEXT_H
#define KUBE_FETCH_TEXT_H

/*
 * fetch_text - what went wrong with a request, in the words of Go's net/http,
 * which Kubernetes passes on to its users. Private to src/kube.
 */

#include <stdbool.h>

#include <curl/curl.h>

#include "kube/fetch.h"

struct fetch_failure {
	CURLcode code;
	bool too_large;      /* the own limit ended it */
	bool silent;         /* no head of an answer in the time for that */
	bool deadline;       /* all of the time given is used up */
	int os_errno;        /* of the last system call that failed, or 0 */
	long verify_result;  /* of OpenSSL, for a certificate that is refused */
	const char *address; /* "192.0.2.1:443"; "" when none was tried */
	const char *host;    /* of the URL */
	const char *details; /* libcurl's own words */
};

/* The class of the failure; the caller owns *ret_cause. */
enum fetch_error fetch_text_cause(const struct fetch_failure *failure,
				  char **ret_cause);

/* Post "URL": cause; the caller's. */
char *fetch_text_whole(const char *method, const char *url, const char *cause);

#endif
