/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Text to numbers, names and paths: results stay within what was promised, and
 * failures leave the result alone.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define UNTOUCHED UINT64_C(0x5a5a5a5a)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_numbers(const char *text)
{
	uint64_t value = UNTOUCHED;
	struct err err;
	char buf[32];

	if (str_to_u64(text, "x", 10, 99999, &value, &err) == 0)
		assert(value >= 10 && value <= 99999 &&
		       strspn(text, "0123456789") == strlen(text));
	else
		assert(value == UNTOUCHED);
	value = UNTOUCHED;
	if (str_to_bytes(text, "x", &value, &err) == -1)
		assert(value == UNTOUCHED && err.kind == ERR_INVALID);
	else
		assert(strlen(str_from_bytes(value, buf, sizeof(buf))) >= 3);
	value = UNTOUCHED;
	if (str_to_ms(text, "x", &value, &err) == -1)
		assert(value == UNTOUCHED && err.kind == ERR_INVALID);
}

static void
check_path(const char *text)
{
	const char *name = NULL;
	char *dir = NULL;
	struct err err;

	if (path_split(text, &dir, &name, &err) == -1) {
		assert(dir == NULL && name == NULL);
		return;
	}
	assert(dir[0] == '/' && name[0] != '\0' && strchr(name, '/') == NULL);
	assert(!str_equal(name, ".") && !str_equal(name, ".."));
	free(dir);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);

	check_numbers(text);
	check_path(text);
	if (str_is_name(text, 20))
		assert(strchr(text, '/') == NULL && strlen(text) <= 20 &&
		       text[0] != '.');
	free(text);
	return 0;
}
