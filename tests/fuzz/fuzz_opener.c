/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests that an intruder in the proxy could send to its opener. The first
 * byte says how many directories come along, and whether the first is an
 * allowed one; the rest is the request. Whatever it asks, what comes back lies
 * below the allowed directory, and nothing is made in the other.
 */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proxy/opener_internal.h"

#define FDS_MAX 3U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char allowed[] = "/tmp/ferry-fuzz-XXXXXX";
static char denied[] = "/tmp/ferry-fuzz-XXXXXX";

static void
remove_dirs(void)
{
	(void)rmdir(allowed);
	(void)rmdir(denied);
}

static void
make_dirs(void)
{
	if (mkdtemp(allowed) == NULL || mkdtemp(denied) == NULL)
		abort();
	(void)atexit(remove_dirs);
}

/* Where the kernel says that a descriptor leads. */
static void
check_below_allowed(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	assert(len > 0);
	path[len] = '\0';
	assert(strncmp(path, allowed, strlen(allowed)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	const char *const dirs[] = { allowed };
	const char *const files[] = { "/dev/null" };
	const struct opener_config config = {
		.dirs = dirs, .n_dirs = 1, .files = files, .n_files = 1
	};
	struct opener_request request = { 0 };
	struct opener_reply reply;
	AUTO(close_fd) int dir_fd = -1;
	AUTO(close_fd) int fd = -1;
	int fds[FDS_MAX];
	bool good;

	if (!made)
		make_dirs();
	made = true;
	if (size == 0)
		return 0;
	good = data[0] & 0x80;
	dir_fd =
		open(good ? allowed : denied, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = dir_fd;
	size--;
	if (size > sizeof(request))
		size = sizeof(request);
	memcpy(&request, data + 1, size);

	opener_serve(&config, &request, fds, data[0] % (FDS_MAX + 1), &reply,
		     &fd);
	assert(reply.number == request.number);
	assert(!reply.failed || fd == -1);
	if (!reply.failed && request.op == OPENER_OPEN_DIR)
		check_below_allowed(fd);
	if (!reply.failed && request.op == OPENER_LISTEN) {
		assert(good);
		assert(unlinkat(dir_fd, request.name, 0) == 0);
	}
	return 0;
}
