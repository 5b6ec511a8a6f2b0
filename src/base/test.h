/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEST_H
#define BASE_TEST_H

/*
 * test - what every unit test includes: cmocka with the headers it needs.
 *
 * Only for x_test.c files.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
