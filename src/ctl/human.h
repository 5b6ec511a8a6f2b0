/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_HUMAN_H
#define CTL_HUMAN_H

/*
 * human - numbers as people read them. Threading: any thread.
 */

#include <stdint.h>

#define HUMAN_SIZE 24

/* "312 B", "1.5 KiB", "27 MiB"; returns text. Less than nothing is nothing. */
const char *human_bytes(int64_t bytes, char text[HUMAN_SIZE]);

#endif
