/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_DISCOVERY_H
#define WEBHOOK_DISCOVERY_H

/*
 * discovery - the documents that say what this server serves; everybody may
 * read them. Threading: any thread.
 */

#include "base/js.h"

/* The document at the path, a new reference; NULL when there is none. */
json_t *discovery_document(const char *path);

#endif
