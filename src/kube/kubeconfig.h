/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

/*
 * kubeconfig - the files that kubectl reads. Private to src/kube.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"
#include "kube/config.h"

struct err;

struct kubeconfig_file {
	char *path;
	char *dir; /* where its relative paths start */
	json_t *doc;
};

/* { 0 } has no files. */
struct kubeconfig {
	struct kubeconfig_file files[KUBE_CONFIG_FILES_MAX];
	size_t count;
};

void kubeconfig_done(struct kubeconfig *kubeconfig);

/* One that is missing is no failure, unless it must be there. */
int kubeconfig_add_file(struct kubeconfig *kubeconfig, const char *path,
			bool must, struct err *err);
/* Several, with colons between them. */
int kubeconfig_add_list(struct kubeconfig *kubeconfig, const char *list,
			struct err *err);

/* Their names with colons between, for messages; to be freed. */
char *kubeconfig_origin(const struct kubeconfig *kubeconfig);

/* The names of all contexts, each once; a new reference. */
json_t *kubeconfig_contexts(const struct kubeconfig *kubeconfig);

/* Fills config with what the context says, flags' or the current one. */
int kubeconfig_apply(const struct kubeconfig *kubeconfig,
		     const struct kube_flags *flags, struct kube_config *config,
		     struct err *err);

#endif
