/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_CREDENTIAL_H
#define KUBE_CREDENTIAL_H

/*
 * credential - certificates, keys and tokens, from data or from files that may
 * change. Private to src/kube. Threading: one thread at a time.
 */

#include <stdbool.h>

#include "kube/config.h"

struct err;

/* From the standard base64 of a kubeconfig, line ends allowed. what is for the
 * error. On failure cred is as it was. */
int credential_from_data(struct kube_credential *cred, const char *base64,
			 const char *what, struct err *err);

/* From a file, whose name is taken on success. A token loses the blanks around
 * it. Empty files are ERR_INVALID. */
int credential_from_file(struct kube_credential *cred, char *path, bool token,
			 struct err *err);

/* Whether the file is another than the one that was read. */
bool credential_is_stale(const struct kube_credential *cred);

/* The text anew; -1 leaves it as it is. */
int credential_reread(struct kube_credential *cred, bool token,
		      struct err *err);

/* Wipes and frees. */
void credential_done(struct kube_credential *cred);

#endif
