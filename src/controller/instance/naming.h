/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_INSTANCE_NAMING_H
#define CONTROLLER_INSTANCE_NAMING_H

/*
 * naming - names that look as if the server had made them, but follow from
 * what they are for.
 *
 * A request to create whose answer is lost may have been done, and one of a
 * process that has lost the lead may arrive late. When the name follows from
 * the cause, the second one to arrive is refused, and nothing is made twice.
 *
 * Threading: any thread.
 */

/* base, cut as the server does, and five characters that follow from seed and
 * attempt. To be freed. */
char *naming_derive(const char *base, const char *seed, unsigned attempt);

#endif
