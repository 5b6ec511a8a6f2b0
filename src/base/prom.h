/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PROM_H
#define BASE_PROM_H

/*
 * prom - metrics in Prometheus' text format (0.0.4), and histograms.
 *
 * A family is its head, once, then its values, side by side. Labels are given
 * as they are written, "a=\"b\",c=\"d\"", or "" for none: their values must
 * need no escaping, as names of objects and words of tables do not. Whatever
 * writes returns -1 when the buffer is full, else 0.
 *
 * Threading: a histogram belongs to one thread at a time. { 0 } is an empty
 * one.
 */

#include <stddef.h>
#include <stdint.h>

struct buf;

#define PROM_BUCKETS_MAX 24

/* Upper bounds of buckets, growing; that of the last, infinity, is not told. */
struct prom_bounds {
	size_t count;
	double list[PROM_BUCKETS_MAX];
};

/* For what people wait for: half a second to twenty minutes, as KubeVirt has
 * them. */
extern const struct prom_bounds prom_bounds_waits;
/* For how long a guest stands still: 10 ms to 30 s. */
extern const struct prom_bounds prom_bounds_pauses;

struct prom_histogram {
	uint64_t buckets[PROM_BUCKETS_MAX]; /* not cumulative */
	uint64_t count;
	double sum;
};

/* bounds: the same each time. Less than 0 is 0: clocks differ. */
void prom_observe(struct prom_histogram *histogram,
		  const struct prom_bounds *bounds, double value);

/* type: counter, gauge, histogram or summary. */
int prom_head(struct buf *buf, const char *name, const char *type,
	      const char *help);
int prom_value(struct buf *buf, const char *name, const char *labels,
	       double value);
int prom_write_histogram(struct buf *buf, const char *name, const char *labels,
			 const struct prom_bounds *bounds,
			 const struct prom_histogram *histogram);

/* A family of one value. */
struct prom_single {
	const char *name, *type, *help;
	double value;
};

int prom_write_singles(struct buf *buf, const struct prom_single *list,
		       size_t count);

#endif
