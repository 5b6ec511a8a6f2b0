/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each document that can be read can be written and read again as the same
 * value, however it was written at first.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/js.h"
#include "base/jssize.h"
#include "meta/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(json_t *value)
{
	struct err err;
	char *text = yaml_from_json(value);
	json_t *again = yaml_to_json(text, strlen(text), &err);

	assert(js_size(value).depth <= JS_MAX_DEPTH);
	assert(again != NULL);
	assert(json_equal(value, again));
	json_decref(again);
	free(text);
}

static void
ignore(void *arg, const char *path)
{
	(void)arg;
	assert(path != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct yaml_docs *docs = yaml_docs_new((const char *)data, size);
	struct err err = { 0 };
	json_t *value = NULL;
	int found;

	while ((found = yaml_docs_next(docs, &value, &err)) == 1) {
		check(value);
		json_decref(value);
	}
	if (found == -1)
		assert(err.kind == ERR_INVALID && err.text[0] != '\0');
	yaml_docs_free(docs);
	json_decref(yaml_to_json_strict((const char *)data, size, ignore, NULL,
					&err));
	return 0;
}
