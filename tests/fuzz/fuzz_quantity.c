/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The canonical text of a quantity stands for the same amount, which has the
 * same canonical text; sums can be undone.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "meta/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const char *text)
{
	char canonical[QUANTITY_TEXT_SIZE];
	char again[QUANTITY_TEXT_SIZE];
	struct quantity q, same, sum;
	struct quantity one = quantity_from_int(1, QUANTITY_DECIMAL_SI);
	struct err err;

	if (quantity_parse(text, &q, &err) == -1) {
		assert(err.kind == ERR_INVALID && err.text[0] != '\0');
		assert(quantity_normalise(text, again, sizeof(again), &err) ==
		       -1);
		return;
	}
	(void)quantity_text(&q, canonical, sizeof(canonical));
	assert(quantity_parse(canonical, &same, &err) == 0);
	assert(quantity_cmp(&q, &same) == 0);
	/* A binary number without a suffix is taken for a decimal one. */
	same.format = q.format;
	assert(strcmp(quantity_text(&same, again, sizeof(again)), canonical) ==
	       0);
	assert(quantity_normalise(text, again, sizeof(again), &err) == 0);
	assert(quantity_parse(again, &same, &err) == 0);
	assert(quantity_cmp(&q, &same) == 0);

	same = quantity_neg(quantity_neg(q));
	assert(quantity_cmp(&q, &same) == 0);
	same = quantity_sub(q, q);
	assert(quantity_is_zero(&same));
	sum = quantity_add(q, one);
	assert(quantity_cmp(&sum, &q) >= 0);
	if (quantity_value(&q) < INT64_MAX) {
		same = quantity_sub(sum, one);
		assert(quantity_cmp(&q, &same) == 0);
	}
	(void)quantity_milli(&q);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);

	check(text);
	free(text);
	return 0;
}
