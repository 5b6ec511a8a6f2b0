/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FDLIMIT_H
#define BASE_FDLIMIT_H

/*
 * fdlimit - how many descriptors the process may have open.
 *
 * The soft limit is 1024 almost everywhere, for the sake of select(2), which
 * no program here uses.
 */

/* Raises the soft limit to the hard one; a failure leaves it as it is. For the
 * start of a program that has a descriptor for each client. */
void fdlimit_raise(void);

#endif
