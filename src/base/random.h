/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

/*
 * random - bytes that nobody can guess, from the kernel. Any thread. Aborts
 * where the kernel gives none, which no Linux does once it has started.
 */

#include <stddef.h>
#include <stdint.h>

void random_bytes(void *data, size_t len);

/* A number below limit, each as likely as the others; limit is not 0. */
uint32_t random_below(uint32_t limit);

#endif
