/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_CNI_H
#define KUBELET_CNI_H

/*
 * cni - runs network plugins as the CNI specification (1.0) says.
 *
 * A network is a list of plugins. ADD runs them in order, each with the result
 * of the one before; DEL in the opposite order, CHECK in order, both with what
 * ADD returned. Plugins are programs; they are watched from the loop.
 *
 * Threading: only from the loop's thread.
 */

#include <stddef.h>

#include "base/js.h"

struct cni_call;
struct err;
struct loop;

#define CNI_TIMEOUT_MS (60U * 1000) /* of each plugin */
#define CNI_CONFIG_MAX (256UL * 1024)
#define CNI_PLUGINS_MAX 16

/*
 * Makes a list ({"cniVersion","name","plugins"}) of a configuration that is
 * one or that is of a single plugin; name is for one that has none. Types of
 * plugins must be plain file names. A new reference, or NULL.
 */
json_t *cni_list(const json_t *config, const char *name, struct err *err);

/* The node's own network: the first .conflist, .conf or .json of the directory
 * by name. ERR_NOT_FOUND when there is none. */
json_t *cni_list_load(const char *dir, struct err *err);
/* The one with this name. */
json_t *cni_list_find(const char *dir, const char *name, struct err *err);

struct cni_request {
	struct loop *loop;
	const char *verb; /* "ADD", "DEL", "CHECK" */
	const char *bin_dir;
	const json_t *list;
	const json_t *result; /* of ADD, for DEL and CHECK; NULL: none */
	const char *container_id;
	const char *netns; /* "" when it is gone */
	const char *ifname;
	const char *args; /* CNI_ARGS */
	const char *mac;  /* asked for; NULL or "": none */
};

/* err is NULL on success; result is ADD's, borrowed. */
typedef void cni_done_fn(const struct err *err, const json_t *result,
			 void *arg);

struct cni_call *cni_start(const struct cni_request *request, cni_done_fn *done,
			   void *arg);
void cni_cancel(struct cni_call *call); /* NULL is fine */

#endif
