/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void
random_bytes(void *data, size_t len)
{
	uint8_t *p = data;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			abort();
		p += n;
		len -= (size_t)n;
	}
}

uint32_t
random_below(uint32_t limit)
{
	uint32_t value;
	/* The numbers that would make some remainders likelier than others. */
	uint32_t unfair;

	assert(limit > 0);
	unfair = -limit % limit;
	do
		random_bytes(&value, sizeof(value));
	while (value < unfair);
	return value % limit;
}
