/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs a fuzz target over the files of its corpus, without libFuzzer: so that
 * every build with every compiler and sanitizer can.
 *
 *   fuzz_x DIRECTORY
 */
#include <dirent.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"

#define INPUT_MAX_BYTES (1U << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
replay(const char *path)
{
	AUTO(free_ptr) char *data = NULL;
	AUTO(free_ptr) uint8_t *exact = NULL;
	struct err err;
	size_t len;

	if (path_read_file(path, INPUT_MAX_BYTES, &data, &len, &err) == -1) {
		(void)fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	/* Without the NUL behind it: reading too far must be seen. */
	exact = xmalloc0(len);
	for (size_t i = 0; i < len; i++)
		exact[i] = (uint8_t)data[i];
	/* What is running when it crashes. */
	(void)fprintf(stderr, "%s\n", path);
	return LLVMFuzzerTestOneInput(exact, len);
}

int
main(int argc, char **argv)
{
	struct dirent *entry;
	DIR *dir;
	int count = 0;

	if (argc != 2 || (dir = opendir(argv[1])) == NULL) {
		(void)fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	while ((entry = readdir(dir)) != NULL) {
		AUTO(free_ptr)
		char *path = xasprintf("%s/%s", argv[1], entry->d_name);

		if (entry->d_name[0] == '.')
			continue;
		if (replay(path) != 0)
			return 1;
		count++;
	}
	(void)closedir(dir);
	/* A corpus that is not there proves nothing. */
	return count > 0 ? 0 : 1;
}
