/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_UI_H
#define WEBHOOK_UI_H

/*
 * ui - the dashboard: files that are part of the program, and nothing of the
 * cluster. They are found below the group of subresources, so that the API
 * server has asked who somebody is, and whether he may read `ui`, before they
 * are reached; what the page shows it asks the API server for itself, in the
 * name of that person.
 *
 * Threading: any thread.
 */

#include <stdbool.h>
#include <stddef.h>

struct http_request;

#define UI_PATH "/ui"

struct ui_file {
	const char *data;
	size_t len;
	const char *type; /* Content-Type */
};

/* The file at a path, with the group and version before it; false when there
 * is none. */
bool ui_find(const char *path, struct ui_file *ret);
void ui_reply(const struct ui_file *file, struct http_request *http);

#endif
