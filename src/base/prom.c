/* SPDX-License-Identifier: Apache-2.0 */
#include "base/prom.h"

#include <inttypes.h>

#include "base/buf.h"

const struct prom_bounds prom_bounds_waits = {
	.count = 20,
	.list = { 0.5, 1,  2.5, 5,   7.5, 10,  15,  20,  30,  45,
		  60,  90, 120, 150, 180, 240, 300, 450, 600, 1200 },
};

const struct prom_bounds prom_bounds_pauses = {
	.count = 13,
	.list = { 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 30 },
};

void
prom_observe(struct prom_histogram *h, const struct prom_bounds *bounds,
	     double value)
{
	if (value < 0)
		value = 0;
	h->count++;
	h->sum += value;
	for (size_t i = 0; i < bounds->count; i++) {
		if (value <= bounds->list[i]) {
			h->buckets[i]++;
			return;
		}
	}
}

int
prom_head(struct buf *buf, const char *name, const char *type, const char *help)
{
	return buf_printf(buf, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
			  type);
}

int
prom_value(struct buf *buf, const char *name, const char *labels, double value)
{
	if (labels[0] == '\0')
		return buf_printf(buf, "%s %.17g\n", name, value);
	return buf_printf(buf, "%s{%s} %.17g\n", name, labels, value);
}

int
prom_write_histogram(struct buf *buf, const char *name, const char *labels,
		     const struct prom_bounds *bounds,
		     const struct prom_histogram *h)
{
	const char *comma = labels[0] == '\0' ? "" : ",";
	const char *open = labels[0] == '\0' ? "" : "{";
	const char *close = labels[0] == '\0' ? "" : "}";
	uint64_t sum = 0;

	for (size_t i = 0; i < bounds->count; i++) {
		sum += h->buckets[i];
		if (buf_printf(buf, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n",
			       name, labels, comma, bounds->list[i], sum) == -1)
			return -1;
	}
	return buf_printf(buf,
			  "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n"
			  "%s_sum%s%s%s %.17g\n"
			  "%s_count%s%s%s %" PRIu64 "\n",
			  name, labels, comma, h->count, name, open, labels,
			  close, h->sum, name, open, labels, close, h->count);
}

int
prom_write_singles(struct buf *buf, const struct prom_single *list,
		   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct prom_single *s = &list[i];

		if (prom_head(buf, s->name, s->type, s->help) == -1 ||
		    prom_value(buf, s->name, "", s->value) == -1)
			return -1;
	}
	return 0;
}
