/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever bytes a peer's name or message has, a log line is one line of JSON
 * that is no longer than a pipe takes in one piece.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/js.h"
#include "base/log.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* stderr is a file while the line is written. */
static size_t
capture(log_ref ref, const char *msg, char *line, size_t size)
{
	static int file = -1;
	int saved = dup(STDERR_FILENO);
	ssize_t len;

	if (file == -1)
		file = memfd_create("log", MFD_CLOEXEC);
	assert(file != -1 && saved != -1);
	if (lseek(file, 0, SEEK_SET) == -1 || ftruncate(file, 0) == -1)
		abort();
	(void)dup2(file, STDERR_FILENO);
	log_error(ref, "%s", msg);
	(void)dup2(saved, STDERR_FILENO);
	(void)close(saved);
	len = pread(file, line, size, 0);
	assert(len > 0);
	return (size_t)len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	const struct log_field ref[] = {
		{ "peer", text },
		{ "again", text },
		{ NULL, NULL },
	};
	char line[2 * PIPE_BUF];
	struct err err = { 0 };
	json_t *value;
	size_t len;

	log_init("fuzz", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	len = capture(ref, text, line, sizeof(line));
	assert(len <= PIPE_BUF && memchr(line, '\n', len) == line + len - 1);
	value = js_parse(line, len, &err);
	assert(value != NULL && json_object_get(value, "msg") != NULL);
	json_decref(value);

	log_init("fuzz", LOG_LEVEL_INFO, LOG_FORMAT_HUMAN);
	len = capture(ref, text, line, sizeof(line));
	assert(len <= PIPE_BUF && memchr(line, '\n', len) == line + len - 1);
	free(text);
	return 0;
}
