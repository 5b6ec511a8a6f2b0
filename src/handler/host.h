/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_HOST_H
#define HANDLER_HOST_H

/*
 * host - what the node can do, as `ferry-launcher probe` found out.
 *
 * Threading: any thread, once it is loaded.
 */

#include <stdbool.h>

#include "base/js.h"

struct err;
struct host;

#define HOST_FILE_MAX (1024UL * 1024)

/* Reads DIR/host.json. */
struct host *host_load(const char *dir, struct err *err);
void host_free(struct host *host); /* NULL is fine */

/* The model of its CPU; "" when it is not known. */
const char *host_model(const struct host *host);

/*
 * The labels that say so on the Node, an object of texts; a new reference.
 * docs/rendering.md says who asks for which.
 */
json_t *host_labels(const struct host *host);

/* The SELinux context of this process' pods; "none" without SELinux. */
const char *host_selinux_context(void);

#endif
