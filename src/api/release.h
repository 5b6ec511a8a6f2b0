/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_RELEASE_H
#define API_RELEASE_H

/*
 * release - versions of QEMU, as far as they decide whether a guest can move.
 *
 * Threading: any thread.
 */

#include <stdbool.h>

/*
 * Whether a QEMU of version target cannot take a guest from one of version
 * source: it reads what earlier releases have sent, and not the other way. The
 * first two numbers count. What is no version is not older.
 */
bool release_is_older(const char *target, const char *source);

#endif
