/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "block.h"
#include "wire.h"

static const char filler[BLOCK_SIZE - sizeof(struct block_header)] = { 1 };

uint64_t
random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

void
block_fill(void *block, const struct block_header *header)
{
	uint64_t state =
		(header->stream + 1) * 0x9e3779b97f4a7c15U + header->sequence;
	char *at = block;

	for (size_t i = 0; i < BLOCK_SIZE; i += sizeof(state)) {
		(void)random_next(&state);
		memcpy(at + i, &state, sizeof(state));
	}
	memcpy(block, header, sizeof(*header));
}

bool
block_is_intact(const struct block_header *header, size_t at, const void *data,
		size_t size)
{
	char *expected = malloc(BLOCK_SIZE);
	bool same;

	if (expected == NULL)
		die("out of memory");
	block_fill(expected, header);
	same = memcmp(expected + at, data, size) == 0;
	free(expected);
	return same;
}

bool
block_write(int fd, const struct block_header *header)
{
	struct iovec parts[2] = {
		{ .iov_base = (void *)(uintptr_t)header,
		  .iov_len = sizeof(*header) },
		{ .iov_base = (void *)(uintptr_t)filler,
		  .iov_len = sizeof(filler) },
	};
	ssize_t n;

	do {
		n = writev(fd, parts, 2);
	} while (n == -1 && errno == EINTR);
	if (n < (ssize_t)sizeof(*header))
		return false;
	return write_full(fd, filler + ((size_t)n - sizeof(*header)),
			  BLOCK_SIZE - (size_t)n);
}
