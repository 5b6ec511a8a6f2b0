/* SPDX-License-Identifier: Apache-2.0 */

/* A request in two pieces is judged as in one, once it is whole. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/scrape.h"

#define PARTS_MAX 512 /* longer ones would take long */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory of exactly that size, so that reading on is seen. */
static enum scrape_verdict
judge(const uint8_t *data, size_t size)
{
	enum scrape_verdict verdict;
	char *copy;

	if (size == 0)
		return scrape_judge("", 0);
	copy = xmalloc0(size);
	memcpy(copy, data, size);
	verdict = scrape_judge(copy, size);
	free(copy);
	assert(verdict < SCRAPE_VERDICT_COUNT);
	return verdict;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum scrape_verdict whole;

	if (size > SCRAPE_REQUEST_MAX)
		size = SCRAPE_REQUEST_MAX;
	whole = judge(data, size);
	for (size_t part = 0; part < size && size <= PARTS_MAX; part++) {
		enum scrape_verdict verdict = judge(data, part);

		assert(verdict == SCRAPE_INCOMPLETE || verdict == whole);
	}
	return 0;
}
