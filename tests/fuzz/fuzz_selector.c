/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A selector that was parsed prints as one that parses to the same, and decides
 * alike however the labels are given.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/js.h"
#include "base/mem.h"
#include "meta/selector.h"
#include "meta/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct label labels[] = {
	{ "a", "b" },
	{ "app", "x" },
	{ "kubevirt.io/vmi-name", "vm1" },
	{ "n", "5" },
};

static void
check_labels(const char *text)
{
	struct status st = STATUS_INIT;
	struct selector *sel = selector_parse(text, &st);
	struct selector *again;
	json_t *object = json_object();
	char *printed, *reprinted;
	bool matches;

	if (sel == NULL) {
		assert(st.code == 400 && st.message != NULL);
	} else {
		for (size_t i = 0; i < ARRAY_LEN(labels); i++)
			(void)json_object_set_new(object, labels[i].key,
						  json_string(labels[i].value));
		matches = selector_matches(sel, object);
		assert(matches ==
		       selector_matches_labels(sel, labels, ARRAY_LEN(labels)));
		printed = selector_text(sel);
		again = selector_parse(printed, &st);
		assert(again != NULL);
		reprinted = selector_text(again);
		assert(strcmp(printed, reprinted) == 0);
		assert(matches == selector_matches(again, object));
		selector_free(again);
		free(printed);
		free(reprinted);
	}
	json_decref(object);
	selector_free(sel);
	status_done(&st);
}

static const char *
get_nothing(void *arg, const char *path)
{
	(void)path;
	return arg;
}

static void
check_fields(const char *text)
{
	struct status st = STATUS_INIT;
	struct fieldsel *sel = fieldsel_parse(text, &st);

	if (sel == NULL) {
		assert(st.code == 400 && st.message != NULL);
	} else {
		for (size_t i = 0; i < sel->len; i++)
			assert(sel->terms[i].path != NULL &&
			       sel->terms[i].value != NULL);
		(void)fieldsel_matches(sel, get_nothing, NULL);
	}
	fieldsel_free(sel);
	status_done(&st);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);

	check_labels(text);
	check_fields(text);
	free(text);
	return 0;
}
