/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/ui.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/embed.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/server.h"
#include "webhook/sub.h"

#define INDEX "index.html"

/* Made by the build of src/webhook/ui. */
extern const struct embed_file webhook_ui_files[];

static const struct {
	const char *suffix, *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
};

/* What is behind the group and version; NULL when they are others. */
static const char *
below_version(const char *path)
{
	for (size_t i = 0; sub_versions[i] != NULL; i++) {
		AUTO(free_ptr)
		char *prefix = xasprintf("/apis/" SUB_GROUP "/%s" UI_PATH,
					 sub_versions[i]);

		if (str_has_prefix(path, prefix))
			return path + strlen(prefix);
	}
	return NULL;
}

bool
ui_find(const char *path, struct ui_file *ret)
{
	const char *rest = below_version(path);
	const char *name;

	if (rest == NULL || (rest[0] != '\0' && rest[0] != '/'))
		return false;
	name = rest[0] == '\0' ? INDEX : rest + 1;
	for (size_t i = 0; webhook_ui_files[i].name != NULL; i++) {
		const struct embed_file *file = &webhook_ui_files[i];

		if (!str_equal(file->name, name))
			continue;
		*ret = (struct ui_file){ .data = file->data, .len = file->len };
		for (size_t j = 0; j < ARRAY_LEN(types); j++) {
			if (str_has_suffix(name, types[j].suffix))
				ret->type = types[j].type;
		}
		return true;
	}
	return false;
}

/* The page may ask only where it came from, and nobody may put it into a page
 * of his own. */
void
ui_reply(const struct ui_file *file, struct http_request *http)
{
	const struct http_header headers[] = {
		{ "Content-Type", file->type },
		{ "Content-Security-Policy",
		  "default-src 'none'; script-src 'self'; style-src 'self'; "
		  "connect-src 'self'; img-src data:; base-uri 'none'; "
		  "form-action 'none'; frame-ancestors 'none'" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-cache" },
	};

	http_reply(http, 200, headers, ARRAY_LEN(headers), file->data,
		   file->len);
}
